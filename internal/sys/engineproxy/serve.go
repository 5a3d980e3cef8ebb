package engineproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Listen makes the proxy's socket at a path, for its own user alone (0600). What a proxy
// left there that has ended is removed; anything else there is an error.
func Listen(path string) (net.Listener, error) {
	if err := clearPlace(path); err != nil {
		return nil, fmt.Errorf("cannot listen at %s: %w", path, err)
	}
	before := syscall.Umask(0o177) // so that nobody gets in before the mode is set
	l, err := net.Listen("unix", path)
	syscall.Umask(before)
	if err != nil {
		return nil, fmt.Errorf("cannot listen at %s: %w", path, err)
	}
	return l, nil
}

// clearPlace removes a socket at which nobody listens.
func clearPlace(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return errors.New("something that is no socket lies there")
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		return errors.Join(errors.New("another process listens there"), conn.Close())
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return err
	}
	return os.Remove(path)
}

// Serve answers at a socket until ctx ends.
func (p *Proxy) Serve(ctx context.Context, l net.Listener) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	s := &http.Server{Handler: p, MaxHeaderBytes: 16 << 10, ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout: time.Minute, DisableGeneralOptionsHandler: true, BaseContext: func(net.Listener) context.Context { return ctx }, ErrorLog: log.New(io.Discard, "", 0)}
	context.AfterFunc(ctx, func() { _ = s.Close() })
	err := s.Serve(l)
	p.base.CloseIdleConnections()
	if ctx.Err() != nil || errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Path reads what a person wrote for the place of a socket: "/PATH", "unix:/PATH" or
// "unix:///PATH".
func Path(text string) (string, error) {
	path := strings.TrimPrefix(strings.TrimPrefix(text, "unix:"), "//")
	if !filepath.IsAbs(path) || strings.ContainsAny(path, "\x00\n") {
		return "", fmt.Errorf(`%q is no unix socket: want a path, like "unix:/run/custos-engine/docker.sock"`, text)
	}
	return filepath.Clean(path), nil
}

// Run makes a socket at a path, and answers there until ctx ends.
func Run(ctx context.Context, path string, o Options) error {
	if path == o.Socket {
		return errors.New("cannot listen at the engine's own socket")
	}
	l, err := Listen(path)
	if err != nil {
		return err
	}
	o.Log.Info("Answers for the engine", "at", path, "engine", o.Socket, "restart", o.Restart, "prune_images", o.PruneImages, "prune_cache", o.PruneCache)
	return New(o).Serve(ctx, l)
}
