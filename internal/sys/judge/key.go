package judge

import (
	"context"
	"errors"

	"custos/internal/sys/program"
)

// keyring reads the key where the settings say it is.
type keyring struct {
	key         Key
	environment []string
}

// read returns the key, or "" when none is configured. What it read is in no error.
func (k keyring) read(ctx context.Context) (string, error) {
	if k.key.File == "" && k.key.Env == "" && len(k.key.Command) == 0 {
		return "", nil
	}
	s := program.Secret{File: k.key.File, Command: k.key.Command, Env: k.key.Env, Environ: environment(k.environment)}
	key, err := s.Read(ctx)
	if err == nil && len(key) < piece {
		err = errors.New("cannot use a key that is so short")
	}
	if err != nil {
		return "", err
	}
	return key, nil
}
