package pull

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// What is taken of an archive, and how much is read of it at most.
const (
	maxLibrary  = 1 << 30
	maxText     = 16 << 20
	maxUnpacked = 4 << 30
)

// isLibrary reports whether a file is ONNX Runtime's library for a system.
func isLibrary(name, system string) bool {
	switch system {
	case "windows":
		return name == "onnxruntime.dll"
	case "darwin":
		return strings.HasPrefix(name, "libonnxruntime.") && strings.HasSuffix(name, ".dylib")
	}
	return name == "libonnxruntime.so" || strings.HasPrefix(name, "libonnxruntime.so.")
}

// unpack takes the library, its licence and its notices out of an archive into a folder: no other file, under no other name, whatever the archive says.
func unpack(file, folder, system string) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	libraries, texts := 0, map[string]bool{}
	take := func(name string, size int64, content io.Reader) error {
		base := path.Base(name)
		most := int64(maxText)
		switch within := path.Base(path.Dir(name)); {
		case isLibrary(base, system) && (within == "lib" || within == "capi"):
			most = maxLibrary
			libraries++
		case (base == "LICENSE" || base == "ThirdPartyNotices.txt") && !texts[base]:
			texts[base] = true
		default:
			return nil
		}
		if size > most {
			return fmt.Errorf("%q has %d bytes; allowed: %d", name, size, most)
		}
		return copyOut(filepath.Join(folder, base), content, most)
	}
	head, err := bufio.NewReader(io.NewSectionReader(in, 0, 4)).Peek(4)
	switch {
	case err != nil:
		err = errors.New("not an archive (too short)")
	case string(head) == "PK\x03\x04":
		err = eachInZip(in, take)
	case string(head[:2]) == "\x1f\x8b":
		err = eachInTar(in, take)
	default:
		err = errors.New("not an archive; allowed: a gzipped tar, a zip or a wheel")
	}
	if err == nil && libraries != 1 {
		err = fmt.Errorf("it has %d libraries of ONNX Runtime for %s; wanted: 1", libraries, system)
	}
	return err
}

// eachInTar hands out the regular files. Links are passed over: what they point to is a file as well.
func eachInTar(in io.Reader, take func(name string, size int64, content io.Reader) error) error {
	z, err := gzip.NewReader(in)
	if err != nil {
		return err
	}
	bounded := &io.LimitedReader{R: z, N: maxUnpacked}
	for files := tar.NewReader(bounded); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && bounded.N == 0 {
			err = fmt.Errorf("it unpacks to more than %d bytes", int64(maxUnpacked))
		}
		if err == nil && h.Typeflag == tar.TypeReg {
			err = take(h.Name, h.Size, files)
		}
		if err != nil {
			return err
		}
	}
}

func eachInZip(in *os.File, take func(name string, size int64, content io.Reader) error) error {
	info, err := in.Stat()
	if err != nil {
		return err
	}
	z, err := zip.NewReader(in, info.Size())
	if err != nil {
		return err
	}
	for _, f := range z.File {
		if !f.Mode().IsRegular() {
			continue
		}
		content, err := f.Open()
		if err == nil {
			err = errors.Join(take(strings.ReplaceAll(f.Name, `\`, "/"), int64(min(f.UncompressedSize64, 1<<62)), content), content.Close())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// copyOut writes a new file. A name that came before in the archive is an error, and so is more than the most.
func copyOut(path string, content io.Reader, most int64) (err error) {
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(content, most+1))
	if err == nil && n > most {
		err = fmt.Errorf("%s has more than %d bytes", filepath.Base(path), most)
	}
	return errors.Join(err, out.Sync(), out.Close())
}
