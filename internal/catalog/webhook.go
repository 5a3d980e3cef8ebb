package catalog

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// webhookSection is the section [webhook].
type webhookSection struct {
	Listen        string   `toml:"listen"`                // "127.0.0.1:9912"
	SecretFile    string   `toml:"secret_file" is:"path"` // what webhooks are signed with
	SecretCommand []string `toml:"secret_command"`
	SecretEnv     string   `toml:"secret_env" is:"name"`
}

// Webhook says where webhooks are heard, an address or "" for nowhere, and how the
// secret is read that they are signed with. Nothing is heard without one.
func Webhook(w *World) (listen string, secret func(context.Context) (string, error), err error) {
	var s webhookSection
	if err := w.Config.Section("webhook", &s); err != nil {
		return "", nil, err
	}
	if secret, err = s.check(w); err != nil {
		return "", nil, w.Config.Misread("webhook", err)
	}
	return s.Listen, secret, nil
}

func (s webhookSection) check(w *World) (func(context.Context) (string, error), error) {
	hasSecret := s.SecretFile != "" || len(s.SecretCommand) > 0 || s.SecretEnv != ""
	if s.Listen == "" {
		if hasSecret {
			return nil, errors.New(`listen: want an address, like "127.0.0.1:9912"`)
		}
		return nil, nil
	}
	if !isAddress(s.Listen) {
		return nil, fmt.Errorf(`listen: %q is no address like "127.0.0.1:9912"`, s.Listen)
	}
	secret, key, err := w.token(s.SecretFile, s.SecretCommand, s.SecretEnv)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", strings.ReplaceAll(key, "token_", "secret_"), err)
	}
	return secret, nil
}

// isAddress says whether something is HOST:PORT, with a port that can be named.
func isAddress(s string) bool {
	_, port, err := net.SplitHostPort(s)
	n, bad := strconv.ParseUint(port, 10, 16)
	return err == nil && bad == nil && n > 0
}
