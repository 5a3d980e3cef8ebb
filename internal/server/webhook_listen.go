package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"custos/internal/fleet"
)

// WebhookListener is where webhooks arrive.
type WebhookListener struct {
	Address string                                // HOST:PORT; "" for nowhere
	Secret  func(context.Context) (string, error) // what they are signed with
}

// ListenWebhooks opens the address, once there is a secret that can be read: without one
// anyone could send anything.
func ListenWebhooks(ctx context.Context, o WebhookListener) (net.Listener, error) {
	if o.Secret == nil {
		return nil, errors.New("cannot receive webhooks: there is no secret")
	}
	if _, err := o.Secret(ctx); err != nil {
		return nil, fmt.Errorf("cannot receive webhooks: %w", err)
	}
	l, err := net.Listen("tcp", o.Address)
	if err != nil {
		return nil, fmt.Errorf("cannot receive webhooks: %w", err)
	}
	return l, nil
}

// ServeWebhooks answers until ctx ends. Who sends slowly is cut off: the other end is a
// stranger until its signature was checked.
func ServeWebhooks(ctx context.Context, l net.Listener, h http.Handler) error {
	return serve(ctx, l, &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      45 * time.Second,
		IdleTimeout:       30 * time.Second,
		MaxHeaderBytes:    16 << 10,
	})
}

// secretHeld is how long a secret is held before it is read anew.
const secretHeld = 30 * time.Second

// Held reads a secret at most every half minute, however often strangers knock: a program
// may print it. One that was exchanged is taken up then. An error is held as long.
func Held(read func(context.Context) (string, error), now func() fleet.Instant) func(context.Context) (string, error) {
	var mu sync.Mutex
	var at fleet.Instant
	var secret string
	var err error
	return func(ctx context.Context) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if gone := now().Since(at); at.IsZero() || gone < 0 || gone >= secretHeld {
			// a sender that hangs up must not leave an error for the others
			secret, err = read(context.WithoutCancel(ctx))
			at = now()
		}
		return secret, err
	}
}
