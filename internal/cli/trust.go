package cli

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) trustCommand() *cobra.Command {
	var q api.TrustRequest
	c := &cobra.Command{
		Use:   "trust [PATH]",
		Short: "Formulas and plugins of projects: what changed, and have it run",
		Long: `What lies in a project (.custos/formulas, .custos/plugins), or in a folder of
custos.toml that is in a repository, is run only as far as a person trusts it: file
by file, as a commit of the primary branch has it, and never from the working tree.
Without PATH the folders are listed. With PATH what has changed there is shown, and
the digest with which you say that this, and nothing else, may be run.`,
		Example: "  custos trust\n  custos trust ~/src/shop\n  custos trust ~/src/shop --digest 1f0c3a5b7d90",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				if q.Digest != "" || q.Revoke {
					return usage("--digest and --revoke want the PATH that they are for")
				}
				return say(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.CodeList, error) { return c.Code(ctx) }, writeCode)
			}
			path, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			return say(cmd.Context(), a, patience, func(ctx context.Context, c *api.Client) (api.CodeList, error) { return trusted(ctx, c, path, q) }, func(p *page, v api.CodeList) { writeTrust(p, v, q) })
		},
	}
	c.Flags().StringVar(&q.Digest, "digest", "", "trust what has this `DIGEST`; its first 12 letters are enough")
	c.Flags().BoolVar(&q.Revoke, "revoke", false, "trust nothing of it any more")
	return c
}

// trusted finds the folder that a path means, and has it be trusted where that was
// said.
func trusted(ctx context.Context, c *api.Client, path string, q api.TrustRequest) (api.CodeList, error) {
	list, err := c.Code(ctx)
	if err != nil {
		return list, err
	}
	row, err := codeAt(list, path)
	if err != nil {
		return list, err
	}
	q.Dir = row.Dir
	if q.Digest != "" {
		if len(q.Digest) < 12 || !strings.HasPrefix(row.Digest, q.Digest) {
			return list, &api.Error{Kind: api.BadInput, Message: "cannot trust " + flat(row.Dir) + ": it is not what has the digest " + flat(q.Digest), Hint: "custos trust " + flat(row.Dir)}
		}
		q.Digest = row.Digest
	}
	if q.Digest != "" || q.Revoke {
		if list, err = c.Trust(ctx, q); err != nil {
			return list, err
		}
		if row, err = codeAt(list, path); err != nil { // nothing of it is left to show
			row, err = api.CodeRow{Dir: q.Dir}, nil
		}
	}
	list.Code = []api.CodeRow{row}
	return list, err
}

// codeAt finds the folder that is meant by itself, or by its project's.
func codeAt(list api.CodeList, path string) (api.CodeRow, error) {
	i := slices.IndexFunc(list.Code, func(r api.CodeRow) bool { return r.Dir == path || r.Dir == filepath.Join(path, ".custos") })
	if i < 0 {
		return api.CodeRow{}, &api.Error{Kind: api.NotFound, Message: "cannot find formulas or plugins to be trusted in " + flat(path), Hint: "custos trust"}
	}
	return list.Code[i], nil
}

func writeCode(p *page, v api.CodeList) {
	if len(v.Code) == 0 {
		p.text(0, "No formula and no plugin lies where agents may write, in the projects and folders that custos.toml names.")
	}
	for _, r := range v.Code {
		writeCodeRow(p, r)
	}
	p.next(v.Next)
}

func writeCodeRow(p *page, r api.CodeRow) {
	p.line("%s", p.path(r.Dir))
	switch {
	case r.Unknown != "":
		p.text(2, "nothing of it is run: "+flat(r.Unknown))
	case r.Trusted == 1:
		p.text(2, "1 file is trusted")
	default:
		p.text(2, plural(r.Trusted, "file")+" are trusted")
	}
	if r.Changes != "" {
		p.text(2, "not trusted, and not run: "+flat(r.Changes))
	}
	if r.Loose != "" {
		p.text(2, "not in the primary branch, and never run: "+flat(r.Loose))
	}
}

func writeTrust(p *page, v api.CodeList, q api.TrustRequest) {
	r := v.Code[0]
	writeCodeRow(p, r)
	if q.Digest != "" || q.Revoke || r.Changes == "" {
		return
	}
	p.line("")
	for _, line := range strings.Split(strings.TrimSuffix(r.Diff, "\n"), "\n") {
		p.line("%s", flat(line))
	}
	p.line("")
	p.text(0, "Nothing was changed. To have just this run, as commit "+flat(r.Commit)[:min(12, len(r.Commit))]+" has it:")
	p.line("  %s", p.command("custos trust "+shell([]string{r.Dir})+" --digest "+r.Digest[:min(12, len(r.Digest))]))
}
