package command_test

import (
	"os/exec"
	"strings"
	"testing"
)

// What the command line and the daemon import of a hub does not link its server.
func TestNoServerIsLinked(t *testing.T) {
	deps := func(pkg ...string) string {
		out, err := exec.Command("go", append([]string{"list", "-deps"}, pkg...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	const server = "github.com/nats-io/nats-server/"
	if strings.Contains(deps("custos/internal/hub/command", "custos/internal/hub/wire", "custos/internal/hub/folder", "custos/internal/hub/credential", "custos/cmd/custos"), server) {
		t.Error("the server is linked")
	}
	if !strings.Contains(deps("custos/cmd/custos-hub"), server) {
		t.Error("where it is linked it would not be seen")
	}
}
