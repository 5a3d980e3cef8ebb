// Command custos is the init system and on-call engineer for fleets of AI coding
// agents. All it does is in internal/cli.
package main

import (
	"os"

	"custos/internal/cli"
)

// version is set by the linker: -ldflags "-X main.version=1.2.3".
var version string

func main() { os.Exit(cli.Main(version)) }
