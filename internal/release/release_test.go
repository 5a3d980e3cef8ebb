package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aead.dev/minisign"
	"pgregory.net/rapid"
)

const archive = "custos_0.1.0_linux_amd64.tar.gz"

func keys(t *testing.T) (Key, minisign.PrivateKey) {
	t.Helper()
	public, private, err := minisign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := public.MarshalText()
	key, err := ParseKey(append(text, '\n'))
	if err != nil {
		t.Fatal(err)
	}
	return key, private
}

func sign(private minisign.PrivateKey, sums []byte, comment string) []byte {
	return minisign.SignWithComments(private, sums, comment, "a test")
}

func TestOnlyWhatWasSignedIsTaken(t *testing.T) {
	key, private := keys(t)
	sums := Sums{archive: sha256.Sum256([]byte("programs"))}.Text()
	signature := sign(private, sums, Comment("0.1.0"))
	signed, err := key.Verify(sums, signature)
	if err != nil || signed.Version != "0.1.0" {
		t.Fatalf("what was signed is %+v, %v", signed, err)
	}
	if a, err := signed.Check(archive, strings.NewReader("programs")); err != nil || a != (Archive{"0.1.0", "linux", "amd64"}) {
		t.Errorf("the archive that was signed is %+v, %v", a, err)
	}
	if _, err := signed.Check(archive, strings.NewReader("programz")); !errors.Is(err, ErrDiffers) {
		t.Errorf("an archive with one byte changed: %v", err)
	}
	if _, err := signed.Check("custos_0.2.0_linux_amd64.tar.gz", strings.NewReader("programs")); !errors.Is(err, ErrDiffers) {
		t.Errorf("an archive that calls itself another version: %v", err)
	}
	if _, err := signed.Check("custos_0.1.0_linux_arm64.tar.gz", strings.NewReader("programs")); err == nil {
		t.Error("an archive that has no sum was taken")
	}
	other, _ := keys(t)
	if _, err := other.Verify(sums, signature); !errors.Is(err, ErrUnsigned) || !strings.Contains(err.Error(), key.String()) {
		t.Errorf("with another key: %v", err)
	}
	for _, comment := range []string{"0.1.0", "custos", "custos latest", "minisign 0.1.0", "custos 0.1.0\x00"} {
		if _, err := key.Verify(sums, sign(private, sums, comment)); !errors.Is(err, ErrUnsigned) {
			t.Errorf("signed as %q: %v", comment, err)
		}
	}
}

// Whatever byte is changed, of the sums or of what is signed of the signature: refused.
func TestNoChangedByteIsTaken(t *testing.T) {
	key, private := keys(t)
	sums := Sums{archive: sha256.Sum256([]byte("programs")), "custos_0.1.0_amd64.deb": {1}}.Text()
	signature := sign(private, sums, Comment("0.1.0"))
	from := bytes.IndexByte(signature, '\n') + 1 // the first line is signed by nobody
	rapid.Check(t, func(t *rapid.T) {
		s, g := bytes.Clone(sums), bytes.Clone(signature)
		by := rapid.ByteMin(1).Draw(t, "by")
		if rapid.Bool().Draw(t, "of the sums") {
			s[rapid.IntRange(0, len(s)-1).Draw(t, "at")] ^= by
		} else {
			g[rapid.IntRange(from, len(g)-1).Draw(t, "at")] ^= by
		}
		got, err := key.Verify(s, g)
		if err == nil && !maps.Equal(got.Sums, must(ParseSums(sums))) {
			t.Fatalf("taken:\n%s\n%s", s, g)
		}
		if err == nil && !same(g, signature) {
			t.Fatalf("a signature with a changed byte was taken:\n%s", g)
		}
	})
}

// same says whether two signatures differ by nothing but the white space between their lines.
func same(a, b []byte) bool {
	var x, y minisign.Signature
	return x.UnmarshalText(a) == nil && y.UnmarshalText(b) == nil && x.Equal(y)
}

func must(s Sums, err error) Sums {
	if err != nil {
		panic(err)
	}
	return s
}

// The program that others verify with, and sign with, is Debian's minisign.
func TestMinisignAgrees(t *testing.T) {
	program, err := exec.LookPath("minisign")
	if err != nil {
		t.Skip("minisign is not here")
	}
	dir := t.TempDir()
	run := func(args ...string) ([]byte, error) {
		cmd := exec.Command(program, args...)
		cmd.Dir = dir
		return cmd.CombinedOutput()
	}
	if out, err := run("-G", "-W", "-p", "ours.pub", "-s", "ours.key"); err != nil {
		t.Skipf("minisign makes no key without a password: %v, %s", err, out)
	}
	sums := Sums{archive: {7}}.Text()
	write(t, filepath.Join(dir, SumsName), sums)
	if out, err := run("-S", "-s", "ours.key", "-m", SumsName, "-t", Comment("0.1.0")); err != nil {
		t.Fatalf("minisign does not sign: %v, %s", err, out)
	}
	key, err := ParseKey(read(t, filepath.Join(dir, "ours.pub")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := key.Verify(sums, read(t, filepath.Join(dir, SignatureName))); err != nil {
		t.Errorf("what minisign has signed is not taken: %v", err)
	}
	public, private, _ := minisign.GenerateKey(nil)
	text, _ := public.MarshalText()
	write(t, filepath.Join(dir, "theirs.pub"), append(text, '\n'))
	write(t, filepath.Join(dir, SignatureName), sign(private, sums, Comment("0.1.0")))
	if out, err := run("-V", "-p", "theirs.pub", "-m", SumsName); err != nil || !strings.Contains(string(out), "custos 0.1.0") {
		t.Errorf("minisign does not take what is signed here: %v, %s", err, out)
	}
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestSumsAreReadAsTheyAreWritten(t *testing.T) {
	want := Sums{archive: sha256.Sum256([]byte("a")), "x.deb": sha256.Sum256(nil)}
	if got, err := ParseSums(want.Text()); err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	sum := strings.Repeat("ab", 32)
	for name, text := range map[string]string{
		"empty": "", "short": sum[:62] + "  a\n", "no name": sum + "  \n", "one space": sum + " a\n", "a folder": sum + "  ../a\n",
		"twice": sum + "  a\n" + sum + "  a\n", "no digits": strings.Repeat("xy", 32) + "  a\n", "an empty line": sum + "  a\n\n" + sum + "  b\n",
	} {
		if s, err := ParseSums([]byte(text)); err == nil {
			t.Errorf("%s was read as %v", name, s)
		}
	}
}

func TestNamesOfArchives(t *testing.T) {
	for _, a := range []Archive{{"0.1.0", "linux", "amd64"}, {"1.20.3-rc.1", "linux", "arm64"}, {"0.1.0-3-gabcdef", "linux", "amd64"}} {
		if got, err := ParseName(a.Name()); err != nil || got != a {
			t.Errorf("%s is read as %+v, %v", a.Name(), got, err)
		}
	}
	for _, name := range []string{"", "custos.tar.gz", "custos_0.1_linux_amd64.tar.gz", "custos_0.1.0_linux_amd64.tgz", "custos_v0.1.0_linux_amd64.tar.gz",
		"x/custos_0.1.0_linux_amd64.tar.gz", "custos_01.1.0_linux_amd64.tar.gz", "custos_0.1.0_linux_amd64.tar.gz\n"} {
		if a, err := ParseName(name); err == nil {
			t.Errorf("%q is read as %+v", name, a)
		}
	}
}

type entry struct {
	name string
	kind byte
	text string
}

// packed is an archive in which these files are.
func packed(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Typeflag: e.kind, Mode: 0o755, Size: int64(len(e.text))}
		if e.kind == tar.TypeSymlink {
			h.Linkname, h.Size = "/bin/sh", 0
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.text)); err != nil && h.Size > 0 {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestThreeProgramsOrNone(t *testing.T) {
	a := Archive{"0.1.0", "linux", "amd64"}
	file := func(name string) entry { return entry{a.Folder() + "/" + name, tar.TypeReg, name} }
	all := []entry{file("LICENSE"), file("custos"), file("custos-hook"), file("docs/custos"), file("custos-shim")}
	unpack := func(archive []byte) (map[string]string, error) {
		got := map[string]string{}
		err := a.Unpack(bytes.NewReader(archive), func(name string, size int64, r io.Reader) error {
			text, err := io.ReadAll(r)
			if int64(len(text)) != size {
				t.Errorf("%s has %d bytes, and is said to have %d", name, len(text), size)
			}
			got[name] = string(text)
			return err
		})
		return got, err
	}
	got, err := unpack(packed(t, all...))
	if want := (map[string]string{"custos": "custos", "custos-hook": "custos-hook", "custos-shim": "custos-shim"}); err != nil || !maps.Equal(got, want) {
		t.Errorf("unpacked %v, %v", got, err)
	}
	whole := packed(t, all...)
	for why, archive := range map[string][]byte{
		"one is missing":          packed(t, all[:4]...),
		"one is there twice":      packed(t, append(slices.Clone(all), file("custos"))...),
		"one is a link":           packed(t, append(slices.Clone(all[:4]), entry{a.Folder() + "/custos-shim", tar.TypeSymlink, ""})...),
		"one is empty":            packed(t, append(slices.Clone(all[:4]), entry{a.Folder() + "/custos-shim", tar.TypeReg, ""})...),
		"they lie outside":        packed(t, entry{"../custos", tar.TypeReg, "x"}, entry{"/custos-hook", tar.TypeReg, "x"}, entry{"custos-shim", tar.TypeReg, "x"}),
		"the end is cut off":      whole[:len(whole)-9],
		"a half of it":            whole[:len(whole)/2],
		"it is no archive at all": []byte("<html>404</html>"),
	} {
		if _, err := unpack(archive); err == nil || !strings.HasPrefix(err.Error(), "cannot unpack custos_0.1.0_linux_amd64.tar.gz: ") {
			t.Errorf("%s: %v", why, err)
		}
	}
	full := errors.New("no space left on device")
	if err := a.Unpack(bytes.NewReader(whole), func(string, int64, io.Reader) error { return full }); !errors.Is(err, full) {
		t.Errorf("what the caller cannot write is told as %v", err)
	}
}

// FuzzVerify: sums, signatures and archives come from the network.
func FuzzVerify(f *testing.F) {
	f.Add([]byte("untrusted comment: \nx\ntrusted comment: \ny"), Sums{archive: {}}.Text(), packed(f, entry{"custos", tar.TypeReg, "x"}))
	f.Fuzz(func(t *testing.T, signature, sums, archive []byte) {
		public, _, err := minisign.GenerateKey(bytes.NewReader(make([]byte, 64)))
		if err != nil {
			t.Skip()
		}
		if s, err := (Key{public}).Verify(sums, signature); err == nil {
			t.Errorf("%v was taken", s)
		}
		if s, err := ParseSums(sums); err == nil && len(s) == 0 {
			t.Error("no sums at all were taken")
		}
		_ = Archive{"0.1.0", "linux", "amd64"}.Unpack(bytes.NewReader(archive), func(_ string, _ int64, r io.Reader) error {
			_, err := io.Copy(io.Discard, io.LimitReader(r, 1<<20))
			return err
		})
	})
}
