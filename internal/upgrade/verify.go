package upgrade

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/release"
	"custos/internal/store"
	"custos/internal/store/backups"
	"custos/internal/sys/files"
	"custos/internal/sys/program"
)

// largestSums is many times what SHA256SUMS, its signature and a key take, in bytes.
const largestSums = 1 << 20

// Verified is an archive that was read to its end, and what it is then.
type Verified struct {
	release.Archive
	file string
	sum  [sha256.Size]byte
}

// Verify reads an archive to its end, and the sums and their signature beside it, and says what
// it is when key vouches for it. Without a key (nil) only the sums are compared: a person has
// said that nobody is to vouch for it.
func Verify(file string, key []byte) (Verified, error) {
	file, err := filepath.EvalSymlinks(file)
	if err != nil {
		return Verified{}, fmt.Errorf("cannot verify: %w", err)
	}
	f, _, err := files.OpenRegular(file, os.O_RDONLY)
	if err != nil {
		return Verified{}, fmt.Errorf("cannot verify %s: %w", file, err)
	}
	defer f.Close()
	v := Verified{file: file}
	var sums release.Sums
	if v.Archive, sums, err = check(filepath.Base(file), f, filepath.Dir(file), key); err == nil && (v.OS != runtime.GOOS || v.Arch != runtime.GOARCH) {
		err = fmt.Errorf("cannot take %s: it is for %s on %s, and this machine is %s on %s", v.Name(), v.OS, v.Arch, runtime.GOOS, runtime.GOARCH)
	}
	v.sum = sums[filepath.Base(file)]
	return v, err
}

// check compares an archive with the sums in a folder, for which key vouches unless it is nil.
func check(name string, r io.Reader, dir string, key []byte) (a release.Archive, all release.Sums, err error) {
	sums, err := files.ReadOthers(filepath.Join(dir, release.SumsName), largestSums)
	if err != nil {
		return a, nil, fmt.Errorf("cannot verify %s: %s belongs beside it: %w", name, release.SumsName, err)
	}
	if key != nil {
		return checkSigned(name, r, sums, dir, key)
	}
	if a, err = release.ParseName(name); err == nil {
		all, err = release.ParseSums(sums)
	}
	if err == nil {
		err = all.Check(name, r)
	}
	return a, all, err
}

func checkSigned(name string, r io.Reader, sums []byte, dir string, key []byte) (a release.Archive, all release.Sums, err error) {
	k, err := release.ParseKey(key)
	if err != nil {
		return a, nil, err
	}
	signature, err := files.ReadOthers(filepath.Join(dir, release.SignatureName), largestSums)
	if err != nil {
		return a, nil, fmt.Errorf("cannot verify %s: it is not signed: %w", name, err)
	}
	signed, err := k.Verify(sums, signature)
	if err != nil {
		return a, nil, err
	}
	a, err = signed.Check(name, r)
	return a, signed.Sums, err
}

// Unpack puts the three programs into a folder. What it reads is what was verified, or an
// error: others may write where the archive lies.
func (v Verified) Unpack(ctx context.Context, dir string) error {
	f, _, err := files.OpenRegular(v.file, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	read := io.TeeReader(f, h)
	err = v.Archive.Unpack(read, func(name string, _ int64, r io.Reader) error {
		return put(filepath.Join(dir, name), r)
	})
	if err == nil {
		_, err = io.Copy(io.Discard, read)
	}
	if err == nil && [sha256.Size]byte(h.Sum(nil)) != v.sum {
		err = fmt.Errorf("cannot unpack %s: %w: it was changed since it was verified", v.file, release.ErrDiffers)
	}
	return errors.Join(err, ctx.Err(), files.SyncDir(dir))
}

// put writes an executable, onto the disk.
func put(path string, r io.Reader) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Chmod(0o755), f.Sync(), f.Close())
}

// proof is how long a new program may take to say what it is.
const proof = 30 * time.Second

// Proof says whether the programs in a folder may take over: each runs and is of the version,
// the ledger is not too new for them, and they can read the configuration file; "" is the
// default one.
func Proof(ledger, config string, getenv func(string) string) func(ctx context.Context, dir, version string) error {
	return func(ctx context.Context, dir, version string) error {
		run := func(argv ...string) ([]byte, error) {
			return run(ctx, getenv, filepath.Join(dir, argv[0]), argv[1:]...)
		}
		for _, name := range release.Programs()[1:] {
			if said, err := run(name, "--version"); err != nil || strings.TrimSpace(string(said)) != version {
				return fmt.Errorf("%s says that it is of version %q, not %s (%w)", name, fleet.Line(string(said), 60), version, orNil(err))
			}
		}
		said, err := run("custos", "version", "--json")
		var is api.Version
		if err = errors.Join(err, json.Unmarshal(said, &is)); err != nil || is.Version != version {
			return fmt.Errorf("custos says that it is of version %q, not %s (%w)", fleet.Line(is.Version, 60), version, orNil(err))
		}
		if err := fits(ctx, ledger, is.Schema); err != nil {
			return err
		}
		argv := []string{"custos", "config", "check"}
		if config != "" {
			argv = []string{"custos", "--config", config, "config", "check"}
		}
		if said, err := run(argv...); err != nil {
			if c, ok := errors.AsType[*program.Complaint](err); ok { // with the file, the line and the key
				said = append(said, c.Says...)
			}
			return fmt.Errorf("it cannot read the configuration: %s", fleet.Line(fleet.Redact(string(said)+" "+err.Error()), 400))
		}
		return nil
	}
}

var errNothingMore = errors.New("that is all it said")

func orNil(err error) error {
	if err == nil {
		return errNothingMore
	}
	return err
}

// fits refuses programs for which the ledger is too new, and names the backup that they can read.
func fits(ctx context.Context, ledger string, known int) error {
	at, err := backups.SchemaOf(ctx, ledger)
	if err != nil || at <= known {
		return err
	}
	back := "there is no backup that it can read"
	if b, found := backups.Fitting(ledger, known); found {
		back = "the newest backup that it can read is " + fleet.Path(b.Path)
	}
	return fmt.Errorf("%w: its schema is of version %d, and that one knows up to %d; %s", store.ErrNewer, at, known, back)
}

func run(ctx context.Context, getenv func(string) string, name string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, proof)
	defer cancel()
	env := program.Environ(getenv, "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "DBUS_SESSION_BUS_ADDRESS")
	return program.Run(ctx, program.Call{Argv: append([]string{name}, args...), Env: env, Max: 1 << 20, Heard: 4096})
}

// Owner says which package manager has put a program where it is, and what exchanges it there
// for a version; "" for none. What a package brings belongs to root, but for Homebrew's.
func Owner(ctx context.Context, getenv func(string) string, path, version string) (who, command string, err error) {
	for part, who := range map[string]string{"/nix/store/": "Nix", "/Cellar/": "Homebrew", "/snap/": "snap"} {
		if strings.Contains(path, part) {
			return who, "", nil
		}
	}
	if info, err := files.Lstat(path); err != nil || info.UID != 0 {
		return "", "", err
	}
	machine := cmp.Or(map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH], runtime.GOARCH)
	for _, m := range []struct {
		who, command string
		args         []string
	}{
		{"dpkg", "sudo apt install ./custos_" + version + "_" + runtime.GOARCH + ".deb", []string{"-S", path}},
		{"rpm", "sudo dnf install ./custos-" + version + "-" + machine + ".rpm", []string{"-qf", path}},
		{"apk", "sudo apk add --allow-untrusted ./custos_" + version + "_" + machine + ".apk", []string{"info", "--who-owns", path}},
	} {
		at, err := exec.LookPath(m.who)
		if err != nil {
			continue
		}
		_, err = run(ctx, getenv, at, m.args...)
		var no *exec.ExitError
		switch {
		case err == nil:
			return m.who, m.command, nil
		case !errors.As(err, &no) || no.ExitCode() != 1: // it has not said that it has not
			return "", "", fmt.Errorf("cannot tell whether %s has put %s there: %w", m.who, path, err)
		}
	}
	return "", "", nil
}
