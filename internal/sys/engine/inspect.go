package engine

import (
	"context"
	"errors"
	"time"

	"github.com/moby/moby/client"
)

// Detail is what an engine knows of one container.
type Detail struct {
	Image string

	State    string // created, running, paused, restarting, removing, exited, dead
	Run      string // when the newest run began, as the engine writes it
	Started  time.Time
	Finished time.Time // of the newest run that is over
	Created  time.Time
	Exit     int
	OOM      bool
	Error    string // why it could not be started

	Health   string // none, starting, healthy, unhealthy
	Said     string // the last words of the health check
	Restarts int    // by the engine
	Policy   string // no, always, unless-stopped, on-failure
	Retries  int    // of on-failure; 0 for no bound
	Limit    int64  // bytes of memory; 0 for none
}

// Inspect looks at one container. It fails with ErrGone when there is none.
func (r *Reader) Inspect(ctx context.Context, id string) (out Detail, err error) {
	err = r.c.call("inspect the container", func(api *client.Client) error {
		got, err := api.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
		if err != nil {
			return err
		}
		out, err = detail(got)
		return err
	})
	return out, err
}

func detail(got client.ContainerInspectResult) (Detail, error) {
	c := got.Container
	if c.State == nil || c.ID == "" {
		return Detail{}, errors.New("the engine's answer holds no state")
	}
	d := Detail{Image: c.Image, Restarts: c.RestartCount, Created: moment(c.Created),
		State: string(c.State.Status), Run: c.State.StartedAt, Started: moment(c.State.StartedAt), Finished: moment(c.State.FinishedAt),
		Exit: c.State.ExitCode, OOM: c.State.OOMKilled, Error: c.State.Error, Health: "none"}
	if c.Config != nil {
		d.Image = c.Config.Image
	}
	if c.HostConfig != nil {
		d.Policy, d.Retries, d.Limit = string(c.HostConfig.RestartPolicy.Name), c.HostConfig.RestartPolicy.MaximumRetryCount, c.HostConfig.Memory
	}
	if h := c.State.Health; h != nil && h.Status != "" {
		d.Health = string(h.Status)
		if n := len(h.Log); n > 0 && h.Log[n-1] != nil {
			d.Said = h.Log[n-1].Output
		}
	}
	return d, nil
}

// moment is the zero time for what the engine does not know.
func moment(text string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || t.Year() <= 1 {
		return time.Time{}
	}
	return t
}
