package engine

import (
	"context"

	"github.com/moby/moby/client"
)

// telling are the events after which a container is not what it was. What health
// checks run (exec_create and the like) tells nothing.
func telling() client.Filters {
	return make(client.Filters).Add("type", "container").
		Add("event", "create", "start", "die", "oom", "destroy", "rename", "pause", "unpause", "health_status")
}

// Listen calls heard once when the engine listens, and at every event that may
// have changed a container, until ctx ends or the engine hangs up; it says which.
func (r *Reader) Listen(ctx context.Context, heard func()) error {
	return r.c.call("listen to the engine's events", func(api *client.Client) error {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		stream := api.Events(ctx, client.EventsListOptions{Filters: telling()})
		select {
		case err := <-stream.Err:
			return err
		default:
			heard()
		}
		for {
			select {
			case <-stream.Messages:
				heard()
			case err := <-stream.Err:
				return err
			}
		}
	})
}
