package text_test

import (
	"os"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine/text"
)

// TestExpand has the questions of spec/memories.md 7.3.
func TestExpand(t *testing.T) {
	tests := []struct{ query, added string }{
		{"服务挂了", "崩溃 crash error 报错 宕机"},
		{"deploy the container", "部署 上线 发布 release Docker"},
		{"memory", "记忆 记忆系统 LanceDB 索引"},
		{"oom crash error", "崩溃 内存溢出 报错 exception 错误"},
		{"x", ""}, {" x ", ""}, {"", ""},
		{"nothing of the table", ""},
		{"deployed and redeploy", ""},
		{"DOCKER", "容器 container image 镜像"},
		{"用docker运行", "容器 container image 镜像"},
		{"git  push", ""},
		{"how to git push?", "推送 commit 提交 remote"},
	}
	for _, test := range tests {
		want := test.query
		if test.added != "" {
			want += " " + test.added
		}
		if got := text.Expand(test.query); got != want {
			t.Errorf("Expand(%q) = %q, want %q", test.query, got, want)
		}
	}
}

// TestExpansionTable: every line of the table has triggers and terms.
func TestExpansionTable(t *testing.T) {
	table, err := os.ReadFile("expansion.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for line := range strings.Lines(string(table)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		lines++
		triggers, terms, _ := strings.Cut(line, "|")
		for _, side := range []string{triggers, terms} {
			for word := range strings.SplitSeq(side, ",") {
				if strings.TrimSpace(word) == "" {
					t.Errorf("%q; allowed: triggers | terms, with commas between them", line)
				}
			}
		}
	}
	if lines < 10 {
		t.Errorf("saw %d lines", lines)
	}
}
