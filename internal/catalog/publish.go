package catalog

import (
	"context"
	"errors"
)

// publishSection is the section [publish].
type publishSection struct {
	Socket       string   `toml:"socket" is:"path"`
	TokenFile    string   `toml:"token_file" is:"path"`
	TokenCommand []string `toml:"token_command"`
	TokenEnv     string   `toml:"token_env" is:"name"`
}

// Publish says at which socket a Custos elsewhere may look at what this one sees, "" for none,
// and how the token is read that it has to show.
func Publish(w *World) (socket string, token func(context.Context) (string, error), err error) {
	var s publishSection
	if err := w.Config.Section("publish", &s); err != nil {
		return "", nil, err
	}
	if s.Socket == "" && s.TokenFile == "" && len(s.TokenCommand) == 0 && s.TokenEnv == "" {
		return "", nil, nil
	}
	if s.Socket == "" {
		return "", nil, w.Config.Misread("publish", errors.New(`socket: want the path of a socket, like "/run/custos-out/custos.sock"`))
	}
	if socket, err = w.Config.Expand(s.Socket); err != nil {
		return "", nil, w.Config.Misread("publish", err)
	}
	token, key, err := w.token(s.TokenFile, s.TokenCommand, s.TokenEnv)
	if err != nil {
		return "", nil, w.Config.Misread("publish."+key, err)
	}
	return socket, token, nil
}
