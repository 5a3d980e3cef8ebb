package cli

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/api"
	"custos/internal/config"
)

func (a *app) configCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "Check the configuration",
	}
	c.AddCommand(&cobra.Command{
		Use:     "check",
		Example: "  custos config check\n  custos --config new.toml config check",
		Short:   "Read custos.toml, its rules and every section; say everything that is wrong",
		RunE: func(cmd *cobra.Command, _ []string) error {
			conf, err := a.config()
			if err != nil {
				return err
			}
			if _, err := a.hosts(); err != nil {
				return err
			}
			if a.Daemon.Client {
				return a.checkedAsClient(conf)
			}
			// The sections, rules and kinds are read where they are used.
			h, closer, err := a.Daemon.Local(cmd.Context(), conf)
			if err != nil {
				return localError(err)
			}
			wrong := checkRead(cmd.Context(), conf, api.NewClient(api.InProcess(h)))
			if err := closer(); err != nil {
				return localError(err)
			}
			if wrong != nil {
				return wrong
			}
			return a.show(map[string]any{
				"ok": true, "file": conf.File, "found": conf.Found, "mode": conf.Mode,
				"state_dir": conf.StateDir, "runtime_dir": conf.RuntimeDir, "journal_dir": conf.JournalDir,
				"patrol_every": conf.PatrolEvery.String(), "patrol_idle_max": conf.PatrolIdle.String(), "grace": conf.Grace.String(),
				"budget": conf.Budget.String(), "blast": conf.Blast, "workers": conf.Workers, "fail_on": conf.FailOn,
			}, func(p *page) {
				if conf.Found {
					p.line("%s is good.", p.path(conf.File))
					return
				}
				p.line("There is no %s: the defaults hold.", p.path(conf.File))
			})
		},
	})
	return c
}

// checkedAsClient says that what a client reads is good. The rest is read by a machine that is watched.
func (a *app) checkedAsClient(conf config.Config) error {
	return a.show(map[string]any{"ok": true, "client": true, "file": conf.File, "found": conf.Found}, func(p *page) {
		if !conf.Found {
			p.line("There is no %s: no other machine is named in it.", p.path(conf.File))
			return
		}
		p.text(0, p.path(conf.File)+" is good, as far as a client reads it: what a machine that is watched reads of it is checked there.")
	})
}

// checkRead refuses what a daemon goes on without: files of kinds, and schedules.
func checkRead(ctx context.Context, conf config.Config, c *api.Client) error {
	k, err := c.Kinds(ctx)
	if err == nil {
		err = checkKinds(k)
	}
	if err != nil {
		return err
	}
	if err := checkFiles(conf); err != nil {
		return err
	}
	return checkSchedules(ctx, conf, c)
}

// checkFiles refuses files of secrets and certificates that are not there. The daemon reads
// them when it needs them: one may come later.
func checkFiles(conf config.Config) error {
	var wrong []string
	for _, e := range conf.Shown() {
		name := e.Key[strings.LastIndex(e.Key, ".")+1:]
		if !strings.HasSuffix(name, "_file") && name != "tls_cert" && name != "tls_key" {
			continue
		}
		path, err := strconv.Unquote(e.Value)
		if err != nil || path == "" {
			continue // of that the section itself tells
		}
		if path, err = conf.Expand(path); err == nil {
			_, err = os.Stat(path)
		}
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("cannot read %s:%d: %s: the file is not there, or cannot be looked at: %v", conf.File, e.Line, e.Key, err))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	return usage("%s", strings.Join(wrong, "\n"))
}

// checkSchedules refuses sections [schedule.NAME] whose formula is not there or
// cannot run. The daemon only reports them: a formula may come back.
func checkSchedules(ctx context.Context, conf config.Config, c *api.Client) error {
	given := map[string]map[string]any{}
	if err := conf.Section("schedule", &given); err != nil {
		return err
	}
	var wrong []string
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if given[name]["enabled"] == false {
			continue
		}
		why, err := whyUnfit(ctx, c, given[name])
		if err != nil {
			return err
		}
		if why != "" {
			wrong = append(wrong, fmt.Sprintf("cannot read %s:%d: [schedule.%s] %s", conf.File, conf.Line("schedule."+name), name, why))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	return usage("%s", strings.Join(wrong, "\n"))
}

// whyUnfit says why the formula of a schedule's section cannot run; "" when it can.
func whyUnfit(ctx context.Context, c *api.Client, section map[string]any) (string, error) {
	q := api.FormulaQuery{Vars: map[string]string{}, Render: true}
	q.Name, _ = section["formula"].(string)
	q.Project, _ = section["project"].(string)
	vars, _ := section["vars"].(map[string]any)
	for k, v := range vars {
		q.Vars[k] = fmt.Sprint(v)
	}
	f, err := c.Formula(ctx, q)
	if isKind(err, api.NotFound, api.BadInput) {
		return err.Error(), nil
	}
	if err != nil {
		return "", err
	}
	for _, p := range f.Problems {
		if p.Severity == "error" {
			return problemText(p), nil
		}
	}
	return "", nil
}
