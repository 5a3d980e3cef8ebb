package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// unpacked makes a .deb whose files are not compressed, as nfpm is told to.
func unpacked(t *testing.T) string {
	t.Helper()
	for _, program := range []string{"dpkg-deb", "xz"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program + " is not here")
		}
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"tree/DEBIAN/control":  "Package: custos\nVersion: 0.1.0\nArchitecture: all\nMaintainer: a <a@b>\nDescription: x\n",
		"tree/usr/lib/program": string(bytes.Repeat([]byte("same again "), 10_000)),
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	deb := filepath.Join(dir, "a.deb")
	if out, err := exec.Command("dpkg-deb", "-Znone", "--build", filepath.Join(dir, "tree"), deb).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return deb
}

func files(t *testing.T, deb string) []byte {
	t.Helper()
	out, err := exec.Command("dpkg-deb", "--fsys-tarfile", deb).Output()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// What dpkg unpacks is the same before and after, the package is smaller, and the same each time.
func TestAPackageIsShrunk(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		deb := unpacked(t)
		before, whole := files(t, deb), read(t, deb)
		if err := shrink(t.Context(), deb, arch); err != nil {
			t.Fatal(err)
		}
		once := read(t, deb)
		if !bytes.Equal(files(t, deb), before) || len(once) > len(whole)/10 {
			t.Errorf("%s: %d bytes of %d, or other files", arch, len(once), len(whole))
		}
		if err := os.WriteFile(deb, whole, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := shrink(t.Context(), deb, arch); err != nil || !bytes.Equal(read(t, deb), once) {
			t.Errorf("%s: another package of the same files: %v", arch, err)
		}
	}
}

// What is no whole archive is left as it is.
func TestATornPackageIsRefused(t *testing.T) {
	deb := unpacked(t)
	whole := read(t, deb)
	for _, torn := range [][]byte{nil, whole[:4], whole[:20], whole[:len(whole)/2]} {
		if err := os.WriteFile(deb, torn, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := shrink(t.Context(), deb, "amd64"); err == nil || !bytes.Equal(read(t, deb), torn) {
			t.Errorf("%d bytes of a package were taken for one: %v", len(torn), err)
		}
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
