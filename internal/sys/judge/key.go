package judge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// maxKey is in bytes; long-lived tokens of some providers have two thousand.
const maxKey = 16 << 10

// keyring reads the key where the settings say it is.
type keyring struct {
	key         Key
	environment []string
}

// read returns the key, or "" when none is configured. What it read is in no error.
func (k keyring) read(ctx context.Context) (string, error) {
	raw, where, err := k.fetch(ctx)
	if err != nil {
		return "", fmt.Errorf("cannot read its key from %s: %w", where, err)
	}
	if where == "" {
		return "", nil
	}
	key := strings.TrimSpace(raw)
	if len(key) < piece || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("cannot use what %s holds as a key: it is empty, too short, or has spaces or other than ASCII in it", where)
	}
	return key, nil
}

func (k keyring) fetch(ctx context.Context) (raw, where string, err error) {
	switch {
	case k.key.File != "":
		raw, err = readKeyFile(k.key.File)
		return raw, "key.file", err
	case len(k.key.Command) > 0:
		raw, err = k.print(ctx)
		return raw, "key.command", err
	case k.key.Env != "":
		raw = os.Getenv(k.key.Env)
		if raw == "" {
			err = fmt.Errorf("%s is not set in the environment of Custos", k.key.Env)
		}
		return raw, "key.env", err
	}
	return "", "", nil
}

// readKeyFile reads a file that is one, and does not wait for what is not.
func readKeyFile(name string) (string, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > maxKey {
		return "", fmt.Errorf("%s is no file of at most %d bytes", name, maxKey)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxKey))
	return string(b), err
}

// print runs the key's program. What it complains of is not repeated: a password
// manager may well name the secret.
func (k keyring) print(ctx context.Context) (string, error) {
	r, err := program{argv: k.key.Command, env: environment(k.environment), dir: "/", max: maxKey}.run(ctx)
	var left *exitError
	if errors.As(err, &left) {
		return "", fmt.Errorf("it ended with %s", left.how)
	}
	return string(r), err
}
