package upgrade

import (
	"context"
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

// Verify reads an archive to its end, and the sums and their signature beside it, and says what
// it is when key vouches for it. Without a key (nil) only the sums are compared: a person has
// said that nobody is to vouch for it.
func Verify(file string, key []byte) (release.Archive, error) {
	sums, err := files.Read(filepath.Join(filepath.Dir(file), release.SumsName), largestSums)
	if err != nil {
		return release.Archive{}, fmt.Errorf("cannot verify %s: %s belongs beside it: %w", file, release.SumsName, err)
	}
	f, err := files.OpenPlain(file)
	if err != nil {
		return release.Archive{}, fmt.Errorf("cannot verify: %w", err)
	}
	defer f.Close()
	a, err := check(filepath.Base(file), f, sums, key, filepath.Dir(file))
	if err == nil && (a.OS != runtime.GOOS || a.Arch != runtime.GOARCH) {
		err = fmt.Errorf("cannot take %s: it is for %s on %s, and this machine is %s on %s", a.Name(), a.OS, a.Arch, runtime.GOOS, runtime.GOARCH)
	}
	return a, err
}

func check(name string, r io.Reader, sums, key []byte, dir string) (release.Archive, error) {
	if key == nil {
		a, err := release.ParseName(name)
		if err != nil {
			return a, err
		}
		all, err := release.ParseSums(sums)
		if err == nil {
			err = all.Check(name, r)
		}
		return a, err
	}
	k, err := release.ParseKey(key)
	if err != nil {
		return release.Archive{}, err
	}
	signature, err := files.Read(filepath.Join(dir, release.SignatureName), largestSums)
	if err != nil {
		return release.Archive{}, fmt.Errorf("cannot verify %s: it is not signed: %w", name, err)
	}
	signed, err := k.Verify(sums, signature)
	if err != nil {
		return release.Archive{}, err
	}
	return signed.Check(name, r)
}

// From unpacks an archive that was verified.
func From(file string, a release.Archive) Unpack {
	return func(ctx context.Context, dir string) error {
		f, err := files.OpenPlain(file)
		if err != nil {
			return err
		}
		defer f.Close()
		err = a.Unpack(f, func(name string, _ int64, r io.Reader) error {
			return put(filepath.Join(dir, name), r)
		})
		return errors.Join(err, ctx.Err(), files.SyncDir(dir))
	}
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
			return fmt.Errorf("it cannot read the configuration: %s", fleet.Line(string(said)+" "+err.Error(), 400))
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
	return program.Run(ctx, program.Call{Argv: append([]string{name}, args...), Env: env, Max: 1 << 20})
}

// Owner says which package manager has put a program where it is, and what exchanges it there;
// "" for none.
func Owner(ctx context.Context, getenv func(string) string, path string) (who, command string) {
	for part, who := range map[string]string{"/nix/store/": "Nix", "/Cellar/": "Homebrew", "/snap/": "snap"} {
		if strings.Contains(path, part) {
			return who, ""
		}
	}
	for _, m := range []struct {
		who, name, command string
		args               []string
	}{
		{"dpkg", "dpkg", "sudo apt install ./custos_VERSION_" + runtime.GOARCH + ".deb", []string{"-S", path}},
		{"rpm", "rpm", "sudo dnf install ./custos-VERSION.rpm", []string{"-qf", path}},
		{"apk", "apk", "sudo apk add ./custos_VERSION.apk", []string{"info", "--who-owns", path}},
	} {
		at, err := exec.LookPath(m.name)
		if err != nil {
			continue
		}
		if _, err := run(ctx, getenv, at, m.args...); err == nil {
			return m.who, m.command
		}
	}
	return "", ""
}
