package catalog

import (
	"context"
	"fmt"

	"custos/internal/act"
	"custos/internal/act/forgewrite"
	"custos/internal/sys/forge"
)

// forgeActionMakers lists the actions on issues and pull requests.
func forgeActionMakers() (out []actionMaker) {
	for _, do := range forgewrite.Names() {
		out = append(out, actionMaker{do, "forge", func(w *World) (act.Action, error) {
			o, err := w.writable()
			return forgewrite.New(do, o), err
		}})
	}
	return out
}

// writable lists the projects that may be written to: those that are not only
// watched.
func (w *World) writable() (forgewrite.Options, error) {
	o := forgewrite.Options{Projects: map[string]forgewrite.Project{}, Landed: w.landed(), Barred: w.PullBarred}
	all, err := w.forges()
	if err != nil {
		return o, err
	}
	for name, at := range all {
		if at.section.WatchOnly {
			continue
		}
		writer, err := forge.NewWriter(at.options)
		if err != nil {
			return o, w.wrong("forge."+name, "repo", err)
		}
		s := at.section
		p := forgewrite.Project{Writer: writer, Labels: map[string][]string{
			"ready": orElse(s.Ready, "backlog"), "in-progress": orElse(s.InProgress, "in-progress"), "blocked": orElse(s.Blocked, "blocked")}}
		if at.options.Kind.Apart {
			if p.Pulls, err = forge.NewWriter(at.pulls()); err != nil {
				return o, w.wrong("forge."+name, "repo", err)
			}
		}
		o.Projects[name] = p
	}
	return o, nil
}

// closed asks the forge of a project anew whether an issue is closed.
func (w *World) closed(ctx context.Context, project string, number int) (bool, error) {
	all, err := w.forges()
	if err != nil {
		return false, err
	}
	at, ok := all[project]
	if !ok {
		return false, fmt.Errorf("cannot ask after project %s: there is no [forge.%s]", project, project)
	}
	reader, err := forge.New(at.options)
	if err != nil {
		return false, err
	}
	issue, err := reader.Issue(ctx, number)
	return err == nil && !issue.Open, err
}
