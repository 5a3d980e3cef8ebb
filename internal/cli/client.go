package cli

import (
	"context"
	"net/http"
	"slices"

	"github.com/spf13/cobra"

	"custos/internal/api"
	"custos/internal/client"
	"custos/internal/config"
)

// clientDaemon stands in for the daemon where this machine is not watched. There is no socket
// to ask at, and whoever listens at one would not be believed; what answers in this process
// knows nothing but that.
func clientDaemon(e Env) Daemon {
	asker := client.Process{Getenv: e.Getenv, Terminal: e.Terminal || e.Progress}
	return Daemon{
		Client: true,
		Local: func(context.Context, config.Config) (http.Handler, func() error, error) {
			return client.Handler(asker), func() error { return nil }, nil
		},
		Socket: func(config.Config) string { return "" },
		Runs:   func(config.Config) bool { return false },
	}
}

// onClient are the commands that a client has besides those of elsewhere, with all below them:
// they need no machine, or show this one as unknown beside others.
var onClient = map[string]bool{
	"custos": true, "custos ps": true, "custos alerts": true, "custos top": true,
	"custos help": true, "custos completion": true, "custos __complete": true, "custos __completeNoDesc": true,
	"custos runbook": true, "custos schema": true, "custos version": true, "custos config": true, "custos init": true,
}

// canLook refuses, on a client, what is about this machine, before anything of it is done.
func (a *app) canLook(cmd *cobra.Command) error {
	if a.isBlind() && !onClient[topOf(cmd).CommandPath()] {
		return client.Error()
	}
	return nil
}

// isBlind says that what is spoken of is this machine, and that it is not watched.
func (a *app) isBlind() bool { return a.Daemon.Client && a.host == nil }

// offered leaves out of the help, on a client, what can only be about this machine.
func (a *app) offered(topics []topic) (out []topic) {
	for _, t := range topics {
		t.commands = slices.DeleteFunc(t.commands, func(name string) bool {
			_, may := api.Elsewhere()["custos "+name]
			return a.Daemon.Client && !may && !onClient["custos "+name]
		})
		if len(t.commands) > 0 {
			out = append(out, t)
		}
	}
	return out
}

// topOf is the command of the first word.
func topOf(c *cobra.Command) *cobra.Command {
	for c.HasParent() && c.Parent().HasParent() {
		c = c.Parent()
	}
	return c
}
