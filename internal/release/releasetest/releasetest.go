// Package releasetest makes releases for tests: an archive of three programs with its sums,
// signed by a key of its own, in one folder, as a person has it before an upgrade.
package releasetest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"aead.dev/minisign"

	"custos/internal/release"
)

// KeyName is the file with the public key, beside the archive.
const KeyName = "custos.pub"

// Entry is one file in an archive.
type Entry struct {
	Name string
	Kind byte // of tar
	Text string
}

// Signer signs releases by a key of its own.
type Signer struct{ key minisign.PrivateKey }

// NewSigner makes a key.
func NewSigner(t testing.TB) Signer {
	t.Helper()
	_, key, err := minisign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return Signer{key}
}

// Make makes a release of the programs in a folder, and returns the path of its archive.
func Make(t testing.TB, a release.Archive, programs string) (archive string) {
	t.Helper()
	return NewSigner(t).Make(t, a, programs)
}

// Sealed puts an archive into a folder of its own, with its sums, their signature and the key.
func Sealed(t testing.TB, a release.Archive, archive []byte) (path string) {
	t.Helper()
	return NewSigner(t).Sealed(t, a, archive)
}

// Make makes a release that it signs.
func (s Signer) Make(t testing.TB, a release.Archive, programs string) (archive string) {
	t.Helper()
	var all []Entry
	for _, name := range release.Programs() {
		text, err := os.ReadFile(filepath.Join(programs, name))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, Entry{a.Folder() + "/" + name, tar.TypeReg, string(text)})
	}
	return s.Sealed(t, a, Packed(t, all...))
}

// Packed is an archive in which these files are.
func Packed(t testing.TB, entries ...Entry) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	for _, e := range entries {
		h := &tar.Header{Name: e.Name, Typeflag: e.Kind, Mode: 0o755, Size: int64(len(e.Text))}
		if e.Kind == tar.TypeSymlink || e.Kind == tar.TypeLink {
			h.Linkname, h.Size, e.Text = e.Text, 0, ""
		}
		err := w.WriteHeader(h)
		if _, bad := w.Write([]byte(e.Text)); errors.Join(err, bad) != nil {
			t.Fatal(err, bad)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Sealed seals an archive with its key.
func (s Signer) Sealed(t testing.TB, a release.Archive, archive []byte) (path string) {
	t.Helper()
	key, err := s.key.Public().(minisign.PublicKey).MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	dir, sums := t.TempDir(), release.Sums{a.Name(): sha256.Sum256(archive)}.Text()
	for name, text := range map[string][]byte{
		a.Name(): archive, release.SumsName: sums, KeyName: append(key, '\n'),
		release.SignatureName: minisign.SignWithComments(s.key, sums, release.Comment(a.Version), "a test"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, a.Name())
}
