package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) recordCommand() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:     "record",
		Example: "  custos record -o night.json",
		Short:   "Write down everything a plan follows from, for custos plan --recording",
		Long: `record looks, and writes a recording: snapshot, past, rules and policy as JSON,
with secrets redacted. It is always JSON. An existing file is not overwritten.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := put(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) ([]byte, error) { return c.Record(ctx) })
			if err != nil {
				return err
			}
			return a.save(file, b)
		},
	}
	c.Flags().StringVarP(&file, "output", "o", "", "write to this new `FILE` instead of the standard output")
	return c
}

// save writes b to a new file, or to the standard output for "".
func (a *app) save(file string, b []byte) error {
	if file == "" {
		_, err := a.Stdout.Write(b)
		return err
	}
	return create(file, b, 0o600)
}

// create writes a file that must not be there yet. A file half written is
// removed again.
func create(file string, b []byte, mode os.FileMode) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, os.ErrExist) {
		return usage("cannot write %s: it is there already", file)
	}
	if err != nil {
		return fmt.Errorf("cannot write: %w", err)
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(file)
		return fmt.Errorf("cannot write: %w", err)
	}
	return nil
}
