package pull

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// maxFile bounds a file whose size no lock says.
const maxFile = 16 << 30

// errAbsent: the source answers, and has no such file.
var errAbsent = errors.New("no such file there")

// answered is a source's refusal.
type answered struct {
	status int
	after  time.Duration // that the source asks to wait
}

func (e *answered) Error() string {
	text := fmt.Sprintf("the source answered %d %s", e.status, http.StatusText(e.status))
	if e.status == http.StatusUnauthorized || e.status == http.StatusForbidden {
		text += ": there is no such repository, or it is not open to everybody"
	}
	return text
}

// passing reports whether it is worth asking again.
func (e *answered) passing() bool {
	return e.status == http.StatusTooManyRequests || e.status == http.StatusRequestTimeout || e.status >= 500
}

// written is a fault of this machine's disk, which no source can mend.
type written struct{ error }

func (e written) Unwrap() error { return e.error }

// fetch brings a file to path, which has it when it is whole and as wanted: a want without a hash takes what comes, but holds it to the hash that the
// source itself gives, if it does. What came of it before is beside it (".part") and is gone on with. It gives the file as it is.
func (s Source) fetch(ctx context.Context, address, path string, want File) (File, error) {
	if size, sum, err := hashFile(path); err == nil && sum == want.SHA256 {
		return File{want.Path, size, sum}, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return File{}, err
	}
	part, pause, anew := path+".part", s.Pause, false
	for attempt := 1; ; attempt++ {
		resumed, published, err := s.transfer(ctx, address, part, want)
		if err == nil {
			got, err := settle(part, path, want, published)
			if !errors.As(err, new(*Mismatch)) || !resumed || anew {
				return got, err
			}
			anew = true // what was there before may have been of another file: once more, from the beginning
			continue
		}
		refusal := (*answered)(nil)
		if ctx.Err() != nil {
			return File{}, ctx.Err()
		}
		if errors.Is(err, errAbsent) || errors.As(err, &written{}) || errors.As(err, &refusal) && !refusal.passing() || attempt >= s.Attempts {
			return File{}, fmt.Errorf("%s: %w", address, err)
		}
		if refusal != nil {
			pause = max(pause, min(refusal.after, time.Minute))
		}
		if err := sleep(ctx, pause); err != nil {
			return File{}, err
		}
		pause *= 2
	}
}

// settle gives a file that came its name, or takes it away when it is not the one that is wanted.
func settle(part, path string, want File, published string) (File, error) {
	size, sum, err := hashFile(part)
	if err != nil {
		return File{}, err
	}
	wanted := want.SHA256
	if wanted == "" {
		wanted = published
	}
	if wanted != "" && wanted != sum {
		return File{}, errors.Join(&Mismatch{want.Path, sum, wanted}, os.Remove(part), forget(part))
	}
	if err := errors.Join(os.Rename(part, path), forget(part)); err != nil {
		return File{}, err
	}
	return File{want.Path, size, sum}, nil
}

// tagFile keeps beside a part which edition of the file it is of.
func tagFile(part string) string { return part + ".etag" }

func forget(part string) error {
	if err := os.Remove(tagFile(part)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// transfer makes one request for what the part lacks. It tells whether the part had something before, and the hash that the source gives of the file.
func (s Source) transfer(ctx context.Context, address, part string, want File) (resumed bool, published string, err error) {
	var have int64
	if info, err := os.Stat(part); err == nil {
		have = info.Size()
	}
	if want.Size > 0 && have > want.Size {
		have = 0
	}
	if want.Size > 0 && have == want.Size {
		return true, "", nil
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return false, "", err
	}
	request.Header.Set("Accept-Encoding", "identity") // parts and lengths are of the file itself
	if have > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", have))
		if tag, err := os.ReadFile(tagFile(part)); err == nil {
			request.Header.Set("If-Range", string(tag))
		}
	}
	watch := s.watch(stop)
	defer watch.Stop()
	response, hops, err := s.ask(request)
	if err != nil {
		return false, "", cause(ctx, err)
	}
	defer response.Body.Close()
	published = publishedHash(append(hops, response.Header))
	switch status := response.StatusCode; {
	case status == http.StatusOK:
		have = 0
	case status == http.StatusPartialContent && strings.HasPrefix(response.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", have)):
	case status == http.StatusPartialContent, status == http.StatusRequestedRangeNotSatisfiable:
		if response.Header.Get("Content-Range") == fmt.Sprintf("bytes */%d", have) { // it was whole already
			return true, published, nil
		}
		return false, "", errors.Join(errors.New("the source has not the rest of what came before"), os.Remove(part), forget(part))
	case status == http.StatusNotFound, status == http.StatusGone:
		return false, "", errAbsent
	default:
		return false, "", &answered{status, retryAfter(response.Header.Get("Retry-After"))}
	}
	total := want.Size
	if total == 0 && response.ContentLength > 0 {
		total = have + response.ContentLength
	}
	limit := want.Size
	if limit == 0 {
		limit = maxFile
	}
	err = s.write(ctx, part, have, limit, response, func(done int64) {
		watch.Reset(s.Stall)
		s.Progress(filepath.Base(strings.TrimSuffix(part, ".part")), int(done), int(total))
	})
	return have > 0, published, err
}

// write appends an answer to what the part has.
func (s Source) write(ctx context.Context, part string, have, limit int64, response *http.Response, report func(done int64)) (err error) {
	file, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return written{err}
	}
	defer func() {
		if failed := errors.Join(file.Sync(), file.Close()); failed != nil && err == nil {
			err = written{failed}
		}
	}()
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		if err := file.Truncate(have); err != nil {
			return written{err}
		}
	}
	if have == 0 {
		if err := forget(part); err != nil {
			return written{err}
		}
		if tag := response.Header.Get("ETag"); tag != "" && !strings.HasPrefix(tag, "W/") {
			if err := os.WriteFile(tagFile(part), []byte(tag), 0o666); err != nil {
				return written{err}
			}
		}
	}
	if _, err := file.Seek(have, io.SeekStart); err != nil {
		return written{err}
	}
	buffer := make([]byte, 256<<10)
	for {
		n, failed := response.Body.Read(buffer)
		if have+int64(n) > limit {
			return errors.Join(fmt.Errorf("the source sends more than the %d bytes of the file", limit), os.Remove(part), forget(part))
		}
		if _, err := file.Write(buffer[:n]); err != nil {
			return written{fmt.Errorf("%w (after %d bytes)", err, have)}
		}
		have += int64(n)
		report(have)
		switch {
		case errors.Is(failed, io.EOF):
			return nil
		case failed != nil:
			return fmt.Errorf("broke off after %d bytes: %w", have, cause(ctx, failed))
		}
	}
}

// ask follows redirects, and gives the headers of those on the way as well: a hub says there what it is about to serve.
func (s Source) ask(request *http.Request) (*http.Response, []http.Header, error) {
	var hops []http.Header
	client := *s.HTTP
	client.CheckRedirect = func(next *http.Request, before []*http.Request) error {
		if len(before) >= 10 {
			return errors.New("ten redirects")
		}
		if before[0].URL.Scheme == "https" && next.URL.Scheme != "https" {
			return fmt.Errorf("a redirect to %s, which is not encrypted", next.URL.Redacted())
		}
		if next.Response != nil {
			hops = append(hops, next.Response.Header)
		}
		return nil
	}
	response, err := client.Do(request)
	return response, hops, err
}

// publishedHash is what a hub says that the SHA-256 of a large file is.
func publishedHash(headers []http.Header) string {
	for _, h := range headers {
		sum := strings.Trim(h.Get("X-Linked-Etag"), `"`)
		if raw, err := hex.DecodeString(sum); err == nil && len(raw) == 32 {
			return strings.ToLower(sum)
		}
	}
	return ""
}

// errStalled ends a request through which nothing comes.
var errStalled = errors.New("nothing came for too long")

// watch ends a request unless it is reset in time.
func (s Source) watch(stop context.CancelCauseFunc) *watchdog {
	w := &watchdog{}
	w.timer = time.AfterFunc(s.Stall, func() {
		if !w.stopped.Load() {
			stop(errStalled)
		}
	})
	return w
}

type watchdog struct {
	timer   *time.Timer
	stopped atomic.Bool
}

func (w *watchdog) Reset(d time.Duration) { w.timer.Reset(d) }

func (w *watchdog) Stop() {
	w.stopped.Store(true)
	w.timer.Stop()
}

// cause gives the reason for which a request was ended, where there is one.
func cause(ctx context.Context, err error) error {
	if why := context.Cause(ctx); why != nil {
		return why
	}
	return err
}

// retryAfter reads the header of that name: seconds. 0: absent, or no number.
func retryAfter(header string) time.Duration {
	seconds, err := strconv.Atoi(header)
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(min(seconds, 3600)) * time.Second
}
