//go:build linux

package chaos

import (
	"os"
	"testing"
)

// hostEnv holds the hostConfig of a process that is a host, and joinEnv the joinConfig of one that has
// hosts join a hub: the binary of the test starts itself.
const (
	hostEnv = "CUSTOS_CHAOS_HOST"
	joinEnv = "CUSTOS_CHAOS_JOIN"
)

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(hostEnv) != "":
		os.Exit(hostMain())
	case os.Getenv(joinEnv) != "":
		os.Exit(joinMain())
	}
	os.Exit(m.Run())
}
