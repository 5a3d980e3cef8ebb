package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// longestSocket is what a unix socket's path may have at most (sun_path, less
// the closing NUL).
const longestSocket = 107

// Listen makes the socket, for this user only. Whatever lies at its path is
// replaced: call it only when it is known that no other daemon lives (the
// caller holds the flock).
func Listen(path string) (net.Listener, error) {
	if len(path) > longestSocket {
		return nil, fmt.Errorf("cannot listen at %s: the path has %d bytes, a socket's may have %d: set a shorter runtime_dir", path, len(path), longestSocket)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("cannot listen: %w", err)
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSocket == 0 {
		return nil, fmt.Errorf("cannot listen at %s: something that is no socket lies there", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("cannot listen: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("cannot listen: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, fmt.Errorf("cannot listen: %w", err)
	}
	return l, nil
}

// Serve answers until ctx ends, then lets running answers finish for at most
// two seconds. It returns nil when ctx ended it.
func Serve(ctx context.Context, l net.Listener, h http.Handler) error {
	return serve(ctx, l, &http.Server{
		Handler: h, ConnContext: connContext,
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       time.Minute,
	})
}

// ServePage answers browsers until ctx ends. Who sends or reads slowly is cut off; a stream
// of the API moves that on by itself.
func ServePage(ctx context.Context, l net.Listener, h http.Handler) error {
	return serve(ctx, l, &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		WriteTimeout:      45 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    32 << 10,
	})
}

func serve(ctx context.Context, l net.Listener, srv *http.Server) error {
	srv.BaseContext = func(net.Listener) context.Context { return ctx }
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("cannot serve: %w", err)
	case <-ctx.Done():
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if srv.Shutdown(late) != nil {
		srv.Close()
	}
	return nil
}
