package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"aead.dev/minisign"
	"golang.org/x/crypto/blake2b"
	"golang.org/x/crypto/scrypt"

	"custos/internal/release"
)

// commitTime is the time of the commit in these tests.
var commitTime = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

func put(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// staged is a stage with programs that are scripts.
func staged(t *testing.T) stage {
	t.Helper()
	s := stage{of: custosItself(), archive: release.Archive{Version: "0.1.0", OS: "linux", Arch: "amd64"}, dir: t.TempDir(), at: commitTime}
	for _, p := range release.Programs() {
		put(t, s.path(p), "#!/bin/sh\necho "+p+" 0.1.0 \"$@\"\n", 0o700)
	}
	t.Setenv("SOURCE_DATE_EPOCH", strconv.FormatInt(commitTime.Unix(), 10))
	if err := writePages([]string{s.dir}); err != nil {
		t.Fatal(err)
	}
	put(t, s.path("NOTICE"), "nothing\n", 0o600)
	if err := s.texts(source{dir: "../..", at: commitTime}); err != nil {
		t.Fatal(err)
	}
	return s
}

// What is packed is the same bytes whenever, wherever and with whatever rights it is
// packed, and what is taken from it again is the programs.
func TestTheSameArchiveTwice(t *testing.T) {
	var all [][]byte
	for i, out := range []string{t.TempDir(), t.TempDir()} {
		s := staged(t)
		old := time.Unix(int64(i)*1e9, 0)
		if err := errors.Join(os.Chtimes(s.path("custos"), old, old), os.Chmod(s.path("LICENSE"), os.FileMode(0o600+i*0o44)), s.writeArchive(filepath.Join(out, s.archive.Name()))); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(out, s.archive.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text)
	}
	if !bytes.Equal(all[0], all[1]) {
		t.Error("two archives of the same differ")
	}
	a := release.Archive{Version: "0.1.0", OS: "linux", Arch: "amd64"}
	err := a.Unpack(bytes.NewReader(all[0]), func(name string, _ int64, r io.Reader) error {
		text, err := io.ReadAll(r)
		if !strings.Contains(string(text), "echo "+name+" ") {
			t.Errorf("%s is %q", name, text)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// What is for a machine that is not watched has the two programs that there are for it, says
// first that it is a client only, and has no unit.
func TestTheArchiveOfAClient(t *testing.T) {
	s := staged(t)
	s.archive = archiveFor("0.1.0", "darwin/arm64")
	if err := s.texts(source{dir: "../..", at: commitTime}); err != nil {
		t.Fatal(err)
	}
	names, err := s.contents()
	if err != nil || !slices.Equal(names[:5], []string{"custos", "custos-hook", "README", "LICENSE", "NOTICE"}) || slices.Contains(names, "custos.service") || slices.Contains(names, "custos-shim") {
		t.Errorf("%q, %v", names, err)
	}
	if text, err := os.ReadFile(s.path("README")); err != nil || !strings.Contains(string(text), "Custos 0.1.0 for darwin on arm64: a client only, and unproven") {
		t.Errorf("%s, %v", text, err)
	}
	if name := s.archive.Name(); name != "custos_0.1.0_darwin_arm64.tar.gz" {
		t.Errorf("it is called %s", name)
	}
}

// Each kind of package has the programs in one folder, the unit, and the version as it is
// ordered there; what it names is in the stage.
func TestWhatPackagesHold(t *testing.T) {
	s := staged(t)
	if err := s.prepare(); err != nil {
		t.Fatal(err)
	}
	s.archive.Version = "0.2.0-rc.1"
	for _, k := range kinds() {
		c, err := s.nfpmConfig(k)
		if err != nil {
			t.Fatal(err)
		}
		if want := map[string]string{"deb": "0.2.0-rc.1", "rpm": "0.2.0-rc.1", "apk": "0.2.0-rc1"}[k.name]; c["version"] != want {
			t.Errorf("%s has version %v", k.name, c["version"])
		}
		for _, script := range c["scripts"].(map[string]string) {
			if info, err := os.Stat(s.path(script)); err != nil || !info.ModTime().Equal(commitTime) {
				t.Errorf("%s: the time of %s, which goes into an .apk, is not that of the commit: %v", k.name, script, err)
			}
		}
		placed := map[string]int{}
		for _, f := range c["contents"].([]content) {
			placed[f.Dst] = f.Info.Mode
			if _, err := os.Stat(s.path(f.Src)); err != nil && f.Type == "" {
				t.Errorf("%s: %v", k.name, err)
			}
			if !f.Info.MTime.Equal(commitTime) || !strings.HasPrefix(f.Dst, "/usr/") {
				t.Errorf("%s: %s lies there as of %v", k.name, f.Dst, f.Info.MTime)
			}
		}
		for path, mode := range map[string]int{"/usr/lib/custos/custos": 0o755, "/usr/lib/custos/custos-hook": 0o755, "/usr/lib/custos/custos-shim": 0o755,
			"/usr/lib/systemd/user/custos.service": 0o644, "/usr/share/man/man1/custos.1.gz": 0o644, "/usr/share/doc/custos/NOTICE.gz": 0o644} {
			if placed[path] != mode {
				t.Errorf("%s: %s has mode %o", k.name, path, placed[path])
			}
		}
		if name := k.file(s.of, s.archive); !strings.Contains(name, "0.2.0-rc.1") || !strings.HasSuffix(name, "."+k.name) {
			t.Errorf("%s is called %s", k.name, name)
		}
	}
	if early, late := s.archive.Version, "0.2.0"; exec.Command("dpkg", "--compare-versions", debVersion(early), "lt", late).Run() != nil && hasDpkg() {
		t.Errorf("dpkg does not order %s before %s", debVersion(early), late)
	}
}

func hasDpkg() bool { _, err := exec.LookPath("dpkg"); return err == nil }

// Every command has a man page, and each shell its completions.
func TestPages(t *testing.T) {
	s := staged(t)
	names, err := s.below("man/man1")
	if err != nil || len(names) < 100 {
		t.Errorf("%d man pages, %v", len(names), err)
	}
	for name, want := range map[string]string{
		"man/man1/custos.1": `.TH "CUSTOS" "1" "Nov 2026" "Custos" "Custos"`, "man/man1/custos-gate-close.1": "custos gate close", "completions/custos.bash": "__start_custos",
		"completions/_custos": "#compdef custos", "completions/custos.fish": "complete -c custos", "docs/config.md": "# custos.toml", "docs/runbooks/self.md": "#", "custos.toml": "mode = \"observe\"",
	} {
		if text, err := os.ReadFile(s.path(name)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v, and no %q in it", name, err, want)
		}
	}
}

func TestTheUnit(t *testing.T) {
	s := staged(t)
	unit, err := os.ReadFile(s.path("custos.service"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"[Unit]", "ExecStart=/usr/bin/custos up", "KillMode=process", "OOMPolicy=continue", "Type=notify", "WantedBy=default.target"} {
		if !strings.Contains("\n"+string(unit), "\n"+line+"\n") {
			t.Errorf("no line %q in:\n%s", line, unit)
		}
	}
	if program, err := exec.LookPath("systemd-analyze"); err == nil {
		dir := t.TempDir()
		put(t, filepath.Join(dir, "custos.service"), strings.ReplaceAll(string(unit), "/usr/bin/custos", "/bin/true"), 0o600)
		if out, err := exec.Command(program, "verify", "--man=no", filepath.Join(dir, "custos.service")).CombinedOutput(); err != nil || strings.Contains(string(out), dir) {
			t.Errorf("systemd-analyze verify: %v\n%s", err, out)
		}
	}
}

// Each module that is linked into the programs is there with a licence.
func TestNoLicenceIsMissing(t *testing.T) {
	text, err := notice(t.Context(), "../..", custosItself())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nThe Go standard library go", "\naead.dev/minisign v", "\nmodernc.org/sqlite v", "\ncel.dev/cel-go v", "\ngolang.org/x/sys v", "Apache License", "Permission is hereby granted"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is not in it", want)
		}
	}
	// One module may be had by either of two licences, and says so; it is taken by the first.
	own, rest, two := strings.Cut(string(text), "\nkernel.org/pub/linux/libs/security/libcap/psx v")
	of, rest, _ := strings.Cut(rest, strings.Repeat("=", 78))
	if !two || !strings.Contains(of, "one or the other of these two Licenses:\n\n  - BSD 3-clause") {
		t.Error("psx is not to be had by either of two licences any more")
	}
	text = []byte(own + rest)
	for _, not := range []string{"\npgregory.net/rapid v", "\ngithub.com/cpuguy83/go-md2man", "GNU GENERAL PUBLIC LICENSE", "GNU AFFERO"} {
		if strings.Contains(string(text), not) {
			t.Errorf("%q is in it, and in no program that is released", not)
		}
	}
	bare := t.TempDir()
	put(t, filepath.Join(bare, "licenses.go"), "package x", 0o600)
	if _, err := noticeOf([]module{{Path: "example.org/bare", Version: "v1.0.0", Dir: bare}}); err == nil || !strings.Contains(err.Error(), "example.org/bare v1.0.0") {
		t.Errorf("a module without a licence: %v", err)
	}
}

func TestTheChangesOfAVersion(t *testing.T) {
	log := "# Changes\n\n## Unreleased\n\n- soon\n\n## [0.2.0] - 2026-12-01\n\n- second\n\n### More\n\n- of it\n\n## v0.1.0, 24 November 2026\n\n- first\n\n## 0.0.9\n"
	for version, want := range map[string]string{"0.2.0": "- second\n\n### More\n\n- of it\n", "0.1.0": "- first\n", "0.0.9": "", "0.1": "", "0.3.0": ""} {
		got, err := section(log, version)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("of %s: %q, %v", version, got, err)
		}
	}
}

// released is a folder with files under a signature, and the key that it is by.
func released(t *testing.T, o options, files map[string]string) release.Key {
	t.Helper()
	public, private, err := minisign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := public.MarshalText()
	key, err := release.ParseKey(text)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := private.MarshalText()
	if o.password != "" {
		put(t, o.password, "open sesame\n", 0o600)
		secret, err = locked("open sesame", secret)
	}
	if err != nil {
		t.Fatal(err)
	}
	put(t, o.key, string(secret), 0o600)
	put(t, filepath.Join(o.out, "custos.pub"), string(text)+"\n", 0o600)
	sign, err := o.signer()
	if err != nil {
		t.Fatal(err)
	}
	var made []string
	for name, text := range files {
		put(t, filepath.Join(o.out, name), text, 0o600)
		made = append(made, filepath.Join(o.out, name))
	}
	if _, err := o.seal(made, sign); err != nil {
		t.Fatal(err)
	}
	return key
}

// locked puts a secret key under a password as minisign does, but for what guessing costs:
// what minisign makes takes seconds to open.
func locked(password string, secret []byte) ([]byte, error) {
	comment, text, _ := strings.Cut(string(secret), "\n")
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	const ops, mem, key = 1 << 15, 1 << 20, 54 // of scrypt with N 1024; bytes 54 to 126 are the key, and its sum follows
	copy(b[2:], "Sc")
	binary.LittleEndian.PutUint64(b[38:], ops)
	binary.LittleEndian.PutUint64(b[46:], mem)
	sum := blake2b.Sum256(append([]byte("Ed"), b[key:key+72]...))
	copy(b[key+72:], sum[:])
	stream, err := scrypt.Key([]byte(password), b[6:38], 1024, 8, 1, 104)
	for i, k := range stream {
		b[key+i] ^= k
	}
	return []byte(comment + "\n" + base64.StdEncoding.EncodeToString(b) + "\n"), err
}

func TestAChangedByteIsRefused(t *testing.T) {
	dir := t.TempDir()
	o := options{version: "0.1.0", out: dir, key: filepath.Join(t.TempDir(), "secret")}
	key := released(t, o, map[string]string{"custos_0.1.0_amd64.deb": "a package", "custos_0.1.0_changes.md": ""})
	if signed, err := verifyFolder(key, dir); err != nil || signed.Version != "0.1.0" || len(signed.Sums) != 2 {
		t.Fatalf("what was released: %+v, %v", signed, err)
	}
	var said bytes.Buffer
	if err := verify([]string{"--key", filepath.Join(dir, "custos.pub"), dir}, &said); err != nil || !strings.HasPrefix(said.String(), "Custos 0.1.0, 2 files, signed by ") {
		t.Errorf("verify says %q, %v", said.String(), err)
	}
	put(t, filepath.Join(dir, "custos_0.1.0_amd64.deb"), "A package", 0o600)
	if _, err := verifyFolder(key, dir); !errors.Is(err, release.ErrDiffers) {
		t.Errorf("a package with a changed byte: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "custos_0.1.0_amd64.deb")); err != nil {
		t.Fatal(err)
	}
	if _, err := verifyFolder(key, dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a package that is gone: %v", err)
	}
	if _, err := o.seal(nil, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := verifyFolder(key, dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a signature of other sums was left: %v", err)
	}
}

// A key that cannot be read is known before anything is built.
func TestNoReleaseWithoutItsKey(t *testing.T) {
	dir := t.TempDir()
	o := options{version: "0.1.0", out: filepath.Join(dir, "out"), key: filepath.Join(dir, "secret"), password: filepath.Join(dir, "password")}
	released(t, o, nil)
	put(t, o.password, "wrong\n", 0o600)
	for name, broken := range map[string]options{
		"a wrong password": o, "no password": {version: "0.1.0", out: o.out, key: o.key},
		"no such key": {version: "0.1.0", out: o.out, key: o.key + "x"}, "no such password": {version: "0.1.0", out: o.out, key: o.key, password: o.password + "x"},
	} {
		var misused usage
		if _, err := broken.make(context.Background()); !errors.As(err, &misused) || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhatCannotBeMadeIsRefused(t *testing.T) {
	out := t.TempDir()
	put(t, filepath.Join(out, "custos_0.2.0_linux_amd64.tar.gz"), "", 0o600)
	for _, c := range []struct {
		args []string
		says string
	}{
		{nil, "want build, verify, pages or notice"},
		{[]string{"publish"}, "cannot publish"},
		{[]string{"build", "--version", "73c03ef0"}, "VERSION=v0.1.0"},
		{[]string{"build", "--version", ""}, "VERSION=v0.1.0"},
		{[]string{"build", "--version", "v0.1.0", "--arch", "riscv64"}, "want amd64, arm64, darwin/arm64"},
		{[]string{"build", "--version", "v0.1.0", "more"}, "want 0 words"},
		{[]string{"build", "--version", "v0.1.0", "--out", out}, "version 0.2.0 lies there"},
		{[]string{"verify", out}, "--key"},
	} {
		err := run(t.Context(), c.args, io.Discard)
		var misused usage
		if !errors.As(err, &misused) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %v", c.args, err)
		}
	}
}

// The scripts of the packages are POSIX shell, end nothing when a package is upgraded, and
// where systemd knows no unit of ours. What they do in a real Debian is in scripts/package-check.
func TestScriptsOfPackages(t *testing.T) {
	fakes := t.TempDir()
	put(t, filepath.Join(fakes, "systemctl"), "#!/bin/sh\necho \"$*\" >>"+fakes+"/asked\n", 0o700)
	for name, script := range map[string]string{"postinst": postInstall, "prerm": preRemove, "postrm": postRemove} {
		for _, args := range []string{"upgrade 0.1.0", "remove", "purge", "configure 0.1.0", "1", "0", ""} {
			cmd := exec.Command("sh", append([]string{"-c", script, name}, strings.Fields(args)...)...)
			cmd.Env = []string{"PATH=" + fakes + ":" + os.Getenv("PATH")}
			out, err := cmd.CombinedOutput()
			if says := strings.Contains(string(out), ".local/state/custos"); err != nil || says != (name == "postrm" && args == "purge") {
				t.Errorf("%s %s: %v, %s", name, args, err, out)
			}
		}
	}
	if asked, err := os.ReadFile(filepath.Join(fakes, "asked")); err == nil && strings.Contains(string(asked), "stop") {
		t.Errorf("a unit that is not active was stopped: %s", asked)
	}
}

// The linker gives custos-hook and custos-shim their version, and they tell it: the daemon asks.
func TestProgramsTellTheirVersion(t *testing.T) {
	dir := t.TempDir()
	if _, err := output(t.Context(), "../..", []string{"CGO_ENABLED=0"}, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X main.version=1.2.3", "-o", dir+"/", "./cmd/custos-hook", "./cmd/custos-shim"); err != nil {
		t.Fatal(err)
	}
	for _, name := range release.Programs()[1:] {
		if said, err := output(t.Context(), dir, nil, filepath.Join(dir, name), "--version"); err != nil || said != "1.2.3" {
			t.Errorf("%s says %q, %v", name, said, err)
		}
	}
}

// What docs/install.md says of the archive and its signature is done here, word by word, with
// programs that are built as those of a release are.
func TestThePageOnInstallingIsTrue(t *testing.T) {
	page, err := os.ReadFile("../../docs/install.md")
	if err != nil {
		t.Fatal(err)
	}
	s, dir, home := staged(t), t.TempDir(), t.TempDir()
	s.archive.Arch = runtime.GOARCH
	for _, p := range release.Programs() {
		if err := os.Remove(s.path(p)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(s.compile(t.Context(), source{dir: "../.."}), s.writeArchive(filepath.Join(dir, s.archive.Name()))); err != nil {
		t.Fatal(err)
	}
	archive, err := os.ReadFile(filepath.Join(dir, s.archive.Name()))
	if err != nil {
		t.Fatal(err)
	}
	released(t, options{version: "0.1.0", out: dir, key: filepath.Join(home, "secret")}, map[string]string{s.archive.Name(): string(archive)})
	path := filepath.Join(home, ".local", "bin") + ":" + withMinisign(t) + ":" + os.Getenv("PATH")
	sh := func(heading string) (string, error) {
		_, below, ok := strings.Cut(string(page), "\n## "+heading+"\n")
		_, below, open := strings.Cut(below, "```sh\n")
		script, _, closed := strings.Cut(below, "```")
		if !ok || !open || !closed {
			t.Fatalf("no commands below %q", heading)
		}
		cmd := alone(strings.NewReplacer("custos setup", "custos setup --yes", "linux_amd64", "linux_"+runtime.GOARCH).Replace(script))
		cmd.Dir = dir
		cmd.Env = []string{"HOME=" + home, "PATH=" + path, "LANG=C.UTF-8", "TMUX_TMPDIR=" + home}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := sh("Is it the release?"); err != nil || !strings.Contains(out, "Trusted comment: custos 0.1.0") || !strings.Contains(out, s.archive.Name()+": OK") {
		t.Errorf("verifying: %v\n%s", err, out)
	}
	if out, err := sh("From the archive"); err != nil || !strings.Contains(out, "\nDONE\n") {
		t.Errorf("installing: %v\n%s", err, out)
	}
	if said, err := output(t.Context(), dir, nil, filepath.Join(home, ".local", "bin", "custos"), "version"); err != nil || !strings.HasPrefix(said, "custos 0.1.0 (") {
		t.Errorf("what is installed says %q, %v", said, err)
	}
	put(t, filepath.Join(dir, s.archive.Name()), string(archive)+"x", 0o600)
	if out, err := sh("Is it the release?"); err == nil {
		t.Errorf("an archive that is another one:\n%s", out)
	}
}

// alone is a script in which no process is seen but its own.
func alone(script string) *exec.Cmd {
	args := []string{"--pid", "--mount", "--mount-proc", "--fork", "--kill-child", "bash", "-euc", script}
	if os.Getuid() != 0 {
		args = append([]string{"--user", "--map-root-user"}, args...)
	}
	return exec.Command("unshare", args...)
}

// withMinisign is a folder with minisign; "" where the machine has it. It is built of the module that signs.
func withMinisign(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("minisign"); err == nil {
		return ""
	}
	dir := t.TempDir()
	if _, err := output(t.Context(), "../..", []string{"CGO_ENABLED=0"}, "go", "build", "-o", dir+"/", "aead.dev/minisign/cmd/minisign"); err != nil {
		t.Fatal(err)
	}
	return dir
}
