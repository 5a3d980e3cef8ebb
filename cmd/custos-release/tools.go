package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// The tools, which Go fetches and builds: they are linked into nothing of a release.
const (
	// nfpm writes .deb, .rpm and .apk. A newer one needs modules that proxy.golang.org does not serve.
	nfpm = "github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.2"
	// cyclonedx lists the modules that Go noted in a program.
	cyclonedx = "github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0"
)

// tool runs one of the tools, for this machine whatever is being built.
func tool(ctx context.Context, dir string, env []string, argv ...string) error {
	_, err := output(ctx, dir, append([]string{"GOOS=", "GOARCH=", "CGO_ENABLED=0"}, env...), append([]string{"go", "run"}, argv...)...)
	return err
}

// output runs a program in a folder, with more environment than ours, and returns what it
// printed. Flags for Go in the environment would change what is built.
func output(ctx context.Context, dir string, env []string, argv ...string) (string, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0", "LC_ALL=C"), env...)
	out, err := cmd.Output()
	if failed, is := err.(*exec.ExitError); is {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, strings.TrimSpace(string(failed.Stderr)))
	}
	return strings.TrimSpace(string(out)), err
}
