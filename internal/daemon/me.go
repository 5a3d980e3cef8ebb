package daemon

import (
	"os"

	"custos/internal/server"
)

// Me is the name of the user of this process, as a daemon would tell it.
func Me() string { return server.Caller{UID: os.Getuid()}.Name() }
