package shim

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"custos/internal/sys/program"
)

// siblingWait is how long a program of ours may take to say its version.
const siblingWait = 5 * time.Second

// SameRelease refuses programs of another version beside the shim than one's own: what a shim
// writes down and what a hook posts is understood across one version, but programs that were
// mixed were put there by halves. One that is missing, or does not tell, as those that Go alone
// has built, is no reason: what needs it says so.
func SameRelease(ctx context.Context, own string, programs []string) error {
	path, err := Find("")
	if err != nil {
		return nil
	}
	for _, name := range programs {
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
	return firstWord(string(said))
}

// firstWord is a version as far as it is one word of a sensible length.
func firstWord(said string) string {
	words := strings.Fields(said)
	if len(words) == 0 {
		return ""
	}
	return words[0][:min(len(words[0]), 80)]
}
