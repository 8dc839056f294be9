package share_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/share"
)

// TestText: a text that JSON can't have is refused, and not changed on its way.
func TestText(t *testing.T) {
	e := open(t, engine.Options{})
	far := dial(t, e, share.Caller{})
	if _, err := share.Recall.Do(t.Context(), far, recall.Query{Text: "cr\xffane"}); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("not UTF-8: %v", err)
	}
	for _, text := range []string{`c:\ufffd`, "\ufffd crane"} {
		bothWays(t, share.Recall, e, far, recall.Query{Text: text, Mode: recall.LexicalMode})
	}
	long := memory.GetRequest{ID: strings.Repeat("x", 1<<20)}
	if _, err := share.Get.Do(t.Context(), far, long); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "1048576") {
		t.Errorf("a request that is too long: %v", err)
	}
}

// TestProtocol: what the holder can't understand is said, and what is too long is not read.
func TestProtocol(t *testing.T) {
	e := open(t, engine.Options{})
	for _, c := range []struct{ say, want string }{
		{"{\"mallard\":99}\n", "version 1 of the protocol, and was asked by version 99"},
		{"GET / HTTP/1.1\n", "the first line"},
		{"{\"mallard\":1}\nnonsense\n", "request: invalid character"},
		{"{\"mallard\":1}\n{\"verb\":\"forget\",\"request\":{}}\n", `verb is \"forget\"; allowed: recall, list`},
		{"{\"mallard\":1}\n{\"verb\":\"list\",\"request\":{\"Nosuch\":1}}\n", `unknown field \"Nosuch\"`},
		{"{\"mallard\":1}\n{\"verb\":\"list\"}\n", "request: EOF"},
		{"{\"mallard\":1}\n{\"verb\":\"get\",\"request\":{\"ID\":7}}\n", "cannot unmarshal number"},
		{"{\"mallard\":1}\n" + strings.Repeat("x", 1<<20+1), "allowed: less than 1048576"},
	} {
		conn, err := net.Dial("unix", e.Path()+".sock")
		if err != nil {
			t.Fatal(err)
		}
		go conn.Write([]byte(c.say))
		conn.SetReadDeadline(time.Now().Add(20 * time.Second))
		heard, b := "", make([]byte, 1<<16)
		for !strings.Contains(heard, c.want) {
			n, err := conn.Read(b)
			if heard += string(b[:n]); err != nil {
				t.Errorf("%.60q is told %q: want %q (%v)", c.say, heard, c.want, err)
				break
			}
		}
		if !strings.Contains(heard, `"process":`+fmt.Sprint(os.Getpid())) {
			t.Errorf("%.60q is not welcomed: %q", c.say, heard)
		}
		conn.Close()
	}
	if _, err := e.Stats(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestKinds: no error of the engine loses its kind on the way.
func TestKinds(t *testing.T) {
	for _, kind := range append(fault.Sentinels(), context.Canceled, context.DeadlineExceeded) {
		if err := share.Sent(fmt.Errorf("a: %w", kind)); !errors.Is(err, kind) || err.Error() != "a: "+kind.Error() {
			t.Errorf("%v arrives as %v", kind, err)
		}
	}
	if err := share.Sent(fmt.Errorf("a: %w", syscall.ENOSPC)); err == nil || err.Error() != "a: no space left on device" {
		t.Errorf("another error: %v", err)
	}
}
