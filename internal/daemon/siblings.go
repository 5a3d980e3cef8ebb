package daemon

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"custos/internal/fleet"
	"custos/internal/release"
	"custos/internal/sys/program"
	"custos/internal/sys/shim"
)

// siblingWait is how long a program of ours may take to say its version.
const siblingWait = 5 * time.Second

// sameRelease refuses to begin beside a program of another version: what a shim writes down
// and what a hook posts is understood across one version, but three programs that were mixed were put
// there by halves. One that is missing, or does not tell, as those that Go alone has built, is
// no reason: what needs it says so.
func sameRelease(ctx context.Context, own string) error {
	path, err := shim.Find("")
	if err != nil {
		return nil
	}
	for _, name := range release.Programs()[1:] {
		one := filepath.Join(filepath.Dir(path), name)
		if version := versionOf(ctx, one); version != "" && version != own {
			return fmt.Errorf("cannot start: this is custos %s, and %s is of version %s: the three programs belong together, all of one release; put those of one version there", own, one, version)
		}
	}
	return nil
}

// versionOf has a program of ours say its version; "" when it does not.
func versionOf(ctx context.Context, path string) string {
	ctx, cancel := context.WithTimeout(ctx, siblingWait)
	defer cancel()
	said, err := program.Run(ctx, program.Call{Argv: []string{path, "--version"}, Max: 4 << 10})
	if err != nil {
		return ""
	}
	return fleet.Line(string(said), 80)
}
