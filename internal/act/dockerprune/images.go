package dockerprune

import (
	"context"

	"custos/internal/fleet"
	"custos/internal/sys/engine"
)

// images are what docker-prune may remove.
type images interface {
	List(ctx context.Context) ([]engine.Container, error)
	Dangling(ctx context.Context, used map[string]bool) (engine.Images, error)
	Prune(ctx context.Context) (freed int64, err error)
}

// New returns the action on images.
func New(o Options) (*Action, error) {
	return newAction(things{do: Do, what: "images",
		cannot:  "custos.toml does not say that images of this engine may go: [containers] prune = true",
		argv:    []string{"docker", "image", "prune", "--force"},
		note:    "only images without a name that no container was made of; no volume",
		none:    "there is no image without a name and a use",
		effect:  func(n int64) string { return "gone: " + fleet.Counted(int(n), "image") + " that nothing named or used" },
		measure: unused,
		prune:   func(ctx context.Context, e Engine) (int64, error) { return e.Prune(ctx) },
	}, o)
}

func unused(ctx context.Context, e Engine) (count, bytes int64, err error) {
	rows, err := e.List(ctx)
	if err != nil {
		return 0, 0, err
	}
	used := map[string]bool{}
	for _, c := range rows {
		used[c.ImageID] = true
	}
	all, err := e.Dangling(ctx, used)
	return int64(all.Count), all.Bytes, err
}
