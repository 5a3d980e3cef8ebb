package daemon

import (
	"context"
	"net/http"

	"custos/internal/catalog"
	"custos/internal/server"
)

func newPublished(w *catalog.World) (p server.Published, err error) {
	p.Socket, p.Token, err = catalog.Publish(w)
	return p, err
}

// publish lets a Custos elsewhere look, at the configured socket, until ctx ends. A place where
// no socket can be made is no reason not to watch: it is said, and tried again.
func (s *system) publish(ctx context.Context, h http.Handler) {
	if s.published.Socket == "" {
		return
	}
	s.repeat(ctx, metricsAgain, "publish what is seen", func(ctx context.Context) error {
		l, err := server.ListenPublished(s.published)
		if err != nil {
			return err
		}
		return server.Serve(ctx, l, server.GuardPublished(s.published, h))
	})
}
