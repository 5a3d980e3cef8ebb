// Command custos-hub is one node of a hub, which several hosts with Custos join:
//
//	custos-hub --dir DIR
//
// DIR is what custos hub init made. It writes one JSON object a line to its standard output: who was
// invited, has joined, was revoked, and what goes wrong. SIGTERM and SIGINT end it in order. All it
// does is in internal/hub; NATS is linked into this program and no other of Custos.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"custos/internal/hub"
)

// version is set by the linker: -ldflags "-X main.version=1.2.3".
var version string

func main() {
	dir := flag.String("dir", "", "the folder of the node, as custos hub init made it")
	says := flag.Bool("version", false, "print the version")
	flag.Parse()
	if *says {
		fmt.Println(version)
		return
	}
	if err := run(*dir, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "custos-hub:", err)
		os.Exit(2)
	}
}

// run runs a node until it is told to end.
func run(dir string, rest []string) error {
	if dir == "" || len(rest) > 0 {
		return errors.New("want --dir DIR, which custos hub init makes, and nothing else")
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	h, err := hub.Start(ctx, dir, hub.Options{Log: os.Stdout})
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-h.Broken():
		err = errors.New("its store was given up: see what it says; start it anew when there is room")
	}
	h.Stop()
	return err
}
