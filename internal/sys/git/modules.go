package git

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
)

// deepest is how many submodules may lie in one another and still be looked at.
const deepest = 4

// modules looks into the submodules, each through a view of its own: git itself
// would look into them by their own configuration. What cannot be told of one is
// not known of the whole.
func (v *view) modules(ctx context.Context, c *Changes) error {
	for _, path := range c.Submodules {
		changed, err := v.module(ctx, path)
		if err != nil {
			return fmt.Errorf("cannot look into submodule %q: %w", path, err)
		}
		if changed && !slices.Contains(c.Modules, path) {
			c.Modules = append(c.Modules, path)
			c.Dirty = append(c.Dirty, path)
		}
	}
	return nil
}

// module says whether anything in a submodule is not in a commit of it.
func (v *view) module(ctx context.Context, path string) (bool, error) {
	p, err := At(filepath.Join(v.place.Top, path))
	if errors.Is(err, ErrNotRepository) {
		return false, nil // it was never checked out
	}
	if err != nil {
		return false, err
	}
	if v.deep == deepest {
		return false, fmt.Errorf("it lies in %d others", deepest)
	}
	c, err := v.r.changesAt(ctx, p, true, v.deep+1)
	if err != nil {
		return false, err
	}
	if len(c.Unsure) > 0 {
		return false, c.Certain()
	}
	return len(c.Dirty)+len(c.Untracked) > 0, nil
}
