package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/config"
)

func (a *app) initCommand() *cobra.Command {
	var layout string
	var onlyPrint bool
	c := &cobra.Command{
		Use:     "init",
		Example: "  custos init\n  custos init --layout disinto",
		Short:   "Write a commented custos.toml to start from",
		RunE: func(*cobra.Command, []string) error {
			text, err := config.Layout(layout)
			if err != nil {
				return err
			}
			if onlyPrint && a.json {
				return a.print(map[string]string{"layout": layout, "text": string(text)})
			}
			if onlyPrint {
				_, err := a.Stdout.Write(text)
				return err
			}
			return a.writeConfig(layout, text)
		},
	}
	c.Flags().StringVar(&layout, "layout", "bare", "the fleet's `LAYOUT`: "+strings.Join(config.Layouts(), ", "))
	c.Flags().BoolVar(&onlyPrint, "print", false, "print it instead of writing it")
	return c
}

// writeConfig does not read the configuration that is there: it may be broken.
func (a *app) writeConfig(layout string, text []byte) error {
	file := a.file
	if file == "" {
		none := func(string) ([]byte, error) { return nil, os.ErrNotExist }
		c, err := config.Load(config.Options{Getenv: a.Getenv, ReadFile: none})
		if err != nil {
			return err
		}
		file = c.File
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("cannot write the configuration: %w", err)
	}
	if err := create(file, text, 0o600); err != nil {
		return err
	}
	return a.show(map[string]string{"file": file, "layout": layout}, func(p *page) {
		p.line("Wrote %s. Adapt it, then: %s", p.path(file), p.command("custos config check"))
	})
}
