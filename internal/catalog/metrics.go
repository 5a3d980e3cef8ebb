package catalog

import (
	"context"
	"errors"
	"fmt"
)

// metricsSection is the section [metrics].
type metricsSection struct {
	Listen       string   `toml:"listen"`               // "127.0.0.1:9911"
	TokenFile    string   `toml:"token_file" is:"path"` // needed where other machines reach it
	TokenCommand []string `toml:"token_command"`
	TokenEnv     string   `toml:"token_env" is:"name"`
}

// Metrics says where metrics are served besides the socket: an address, "" for
// nowhere, and how its token is read, nil for none. local says whether an address
// is reached by this machine alone.
func Metrics(w *World, local func(address string) bool) (listen string, token func(context.Context) (string, error), err error) {
	var s metricsSection
	if err := w.Config.Section("metrics", &s); err != nil {
		return "", nil, err
	}
	if token, err = s.check(w, local); err != nil {
		return "", nil, w.Config.Misread("metrics", err)
	}
	return s.Listen, token, nil
}

func (s metricsSection) check(w *World, local func(string) bool) (func(context.Context) (string, error), error) {
	hasToken := s.TokenFile != "" || len(s.TokenCommand) > 0 || s.TokenEnv != ""
	if s.Listen == "" {
		if hasToken {
			return nil, errors.New(`listen: want an address, like "127.0.0.1:9911"`)
		}
		return nil, nil
	}
	if !isAddress(s.Listen) {
		return nil, fmt.Errorf(`listen: %q is no address like "127.0.0.1:9911"`, s.Listen)
	}
	if !hasToken && !local(s.Listen) {
		return nil, fmt.Errorf(`listen: %q is reached by other machines: name a token (token_file, token_command or token_env), or listen on 127.0.0.1`, s.Listen)
	}
	if !hasToken {
		return nil, nil
	}
	token, key, err := w.token(s.TokenFile, s.TokenCommand, s.TokenEnv)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return token, nil
}
