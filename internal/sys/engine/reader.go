package engine

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/moby/moby/client"
)

// Reader looks at an engine and changes nothing. It is safe for concurrent use.
type Reader struct{ c *conn }

// NewReader returns a Reader of the engine at a unix socket. It does not connect yet.
func NewReader(address string) (*Reader, error) {
	c, err := newConn(address)
	if err != nil {
		return nil, err
	}
	return &Reader{c: c}, nil
}

// Now is the time at the engine, to the second, as its newest answer told it.
func (r *Reader) Now() (time.Time, bool) { return r.c.transport.now() }

// Container is one row of the list of containers.
type Container struct {
	ID, Name, Image string
	ImageID         string
	State           string // created, running, …
	Labels          map[string]string
}

// List returns every container, running or not.
func (r *Reader) List(ctx context.Context) ([]Container, error) {
	var out []Container
	err := r.c.call("list the containers", func(api *client.Client) error {
		got, err := api.ContainerList(ctx, client.ContainerListOptions{All: true})
		for _, s := range got.Items {
			out = append(out, Container{ID: s.ID, Name: ownName(s.Names), Image: s.Image, ImageID: s.ImageID,
				State: string(s.State), Labels: s.Labels})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// ownName is the name of a container among those that links give it.
func ownName(names []string) string {
	for _, n := range names {
		if n = strings.TrimPrefix(n, "/"); n != "" && !strings.Contains(n, "/") {
			return n
		}
	}
	return ""
}

// Info is what an engine says of itself.
type Info struct {
	Version string
	Root    string // folder of its images and containers
	Server  string // what answers at the socket, in its own words: "Docker/20.10.24 (linux)", or the name of a proxy
}

// Info asks the engine about itself.
func (r *Reader) Info(ctx context.Context) (out Info, err error) {
	err = r.c.call("ask the engine about itself", func(api *client.Client) error {
		got, err := api.Info(ctx, client.InfoOptions{})
		out = Info{Version: got.Info.ServerVersion, Root: got.Info.DockerRootDir, Server: r.c.transport.answers()}
		return err
	})
	return out, err
}

// Usage is what one container uses at one moment.
type Usage struct {
	At     time.Time     // by the engine's clock
	CPU    time.Duration // used since the container was started
	Memory int64         // bytes, without what the kernel would give back at once
}

// Usage measures one running container; it takes one sample and does not wait.
func (r *Reader) Usage(ctx context.Context, id string) (out Usage, err error) {
	err = r.c.call("measure the container", func(api *client.Client) error {
		got, err := api.ContainerStats(ctx, id, client.ContainerStatsOptions{})
		if err != nil {
			return err
		}
		defer got.Body.Close()
		out, err = readUsage(json.NewDecoder(got.Body))
		return err
	})
	return out, err
}

func readUsage(d *json.Decoder) (Usage, error) {
	var s struct {
		Read time.Time `json:"read"`
		CPU  struct {
			Usage struct {
				Total uint64 `json:"total_usage"`
			} `json:"cpu_usage"`
		} `json:"cpu_stats"`
		Memory struct {
			Usage *uint64           `json:"usage"`
			Stats map[string]uint64 `json:"stats"`
		} `json:"memory_stats"`
	}
	if err := d.Decode(&s); err != nil {
		return Usage{}, err
	}
	if s.Read.IsZero() || s.Memory.Usage == nil {
		return Usage{}, errors.New("the engine has no figures of it")
	}
	if *s.Memory.Usage > math.MaxInt64 || s.CPU.Usage.Total > math.MaxInt64 {
		return Usage{}, errors.New("the engine's figures are beyond belief")
	}
	used, cache := *s.Memory.Usage, s.Memory.Stats["inactive_file"] // cgroup v2
	if v1, ok := s.Memory.Stats["total_inactive_file"]; ok {
		cache = v1
	}
	if cache < used {
		used -= cache
	}
	return Usage{At: s.Read, CPU: time.Duration(s.CPU.Usage.Total), Memory: int64(used)}, nil
}

// Images are images that no name leads to and that no container was made of.
type Images struct {
	Count int
	Bytes int64 // freed at most, when they go: what they share with others counts where the engine does not tell it apart
}

// Dangling measures them. used holds the IDs of images that containers were made of.
func (r *Reader) Dangling(ctx context.Context, used map[string]bool) (out Images, err error) {
	err = r.c.call("list the images without a name", func(api *client.Client) error {
		got, err := api.ImageList(ctx, client.ImageListOptions{Filters: unnamed(), SharedSize: true})
		for _, i := range got.Items {
			if used[i.ID] || i.Containers > 0 {
				continue
			}
			out.Count++
			out.Bytes = plus(out.Bytes, max(i.Size, 0)-min(max(i.SharedSize, 0), max(i.Size, 0)))
		}
		return err
	})
	return out, err
}

// plus adds sizes that are not negative, and stops at the largest.
func plus(a, b int64) int64 { return a + min(b, math.MaxInt64-a) }

func unnamed() client.Filters { return make(client.Filters).Add("dangling", "true") }
