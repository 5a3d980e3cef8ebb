package main

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra/doc"

	"custos/docs"
	"custos/internal/cli"
)

// writePages writes into a folder what is made of the command line and of the embedded
// pages: man/man1, completions and docs. SOURCE_DATE_EPOCH is the date of the man pages.
func writePages(args []string) error {
	f := newFlags("pages")
	if err := parse(f, args, 1); err != nil {
		return err
	}
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return usage("cannot write pages: SOURCE_DATE_EPOCH says no time")
	}
	dir := f.Arg(0)
	return errors.Join(manPages(filepath.Join(dir, "man", "man1"), time.Unix(seconds, 0).UTC()), completions(filepath.Join(dir, "completions")),
		documents(filepath.Join(dir, "docs"), docs.Pages(), docs.Get), documents(filepath.Join(dir, "docs", "runbooks"), docs.Runbooks(), docs.Runbook))
}

func manPages(dir string, at time.Time) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root := cli.Commands()
	root.DisableAutoGenTag = true
	return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Date: &at, Source: "Custos", Manual: "Custos"}, dir)
}

func completions(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root := cli.Commands()
	return errors.Join(root.GenBashCompletionFileV2(filepath.Join(dir, "custos.bash"), true),
		root.GenZshCompletionFile(filepath.Join(dir, "_custos")), root.GenFishCompletionFile(filepath.Join(dir, "custos.fish"), true))
}

func documents(dir string, pages []docs.Page, get func(string) (docs.Page, bool)) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, p := range pages {
		page, _ := get(p.Name)
		if err := os.WriteFile(filepath.Join(dir, p.Name+".md"), []byte(page.Text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
