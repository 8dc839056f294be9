package text_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine/text"
)

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

func TestExpanderWithOwnTable(t *testing.T) {
	groups, err := text.ReadGroups(strings.NewReader("# pets\n\ndog, puppy | hound, Dog, terrier\ncat | one, two, three, four, five, six\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []text.Group{
		{Triggers: []string{"dog", "puppy"}, Terms: []string{"hound", "Dog", "terrier"}},
		{Triggers: []string{"cat"}, Terms: []string{"one", "two", "three", "four", "five", "six"}},
	}
	if diff := cmp.Diff(want, groups); diff != "" {
		t.Fatal(diff)
	}
	e := text.NewExpander(groups)
	if got, want := e.Expand("The dog"), "The dog hound terrier"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := e.Expand("a cat, a puppy"), "a cat, a puppy hound Dog terrier one two"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := text.NewExpander([]text.Group{{Triggers: []string{""}, Terms: []string{"x"}}}).Expand("query"); got != "query" {
		t.Errorf("an empty trigger fired: %q", got)
	}
}

func TestReadGroupsNamesTheLine(t *testing.T) {
	for _, table := range []string{"a | b\nno terms", "a | b\n| c", "a | b\nd | ,"} {
		if _, err := text.ReadGroups(strings.NewReader(table)); err == nil || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%q: got %v", table, err)
		}
	}
}
