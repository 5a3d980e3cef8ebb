package daemon

import (
	"context"
	"time"

	"custos/internal/server"
)

// webhookAgain is how long is waited before an address that is taken, or a secret that
// cannot be read, is tried again.
const webhookAgain = 10 * time.Second

// hearWebhooks makes triggers of signed webhooks until ctx ends, and has what they are about looked at. What stands in the way
// is no reason not to watch: it is said, and tried again.
func (s *system) hearWebhooks(ctx context.Context) {
	o := s.hooked
	if o.Address == "" {
		return
	}
	s.repeat(ctx, webhookAgain, "receive webhooks", func(ctx context.Context) error {
		l, err := server.ListenWebhooks(ctx, o)
		if err != nil {
			return err
		}
		return server.ServeWebhooks(ctx, l, server.ReceiveWebhooks(server.Webhooks{Secret: server.Held(o.Secret, s.world.Now), Records: records{s},
			Now: s.world.Now, Heard: s.board.Heard, Log: s.o.Log}))
	})
}
