package main

import (
	"fmt"
	"regexp"
	"strings"
)

// heading is that of a version: ## v0.1.0, ## [0.1.0] - 2026-11-24, ## 0.1.0, 24 November 2026.
var heading = regexp.MustCompile(`(?m)^## +\[?v?([0-9][^\]\s,:]*)\]?.*$`)

// section returns what a changelog says of one version, without its heading.
func section(changelog, version string) (string, error) {
	all := heading.FindAllStringSubmatchIndex(changelog, -1)
	for i, m := range all {
		if changelog[m[2]:m[3]] != version {
			continue
		}
		end := len(changelog)
		if i+1 < len(all) {
			end = all[i+1][0]
		}
		if text := strings.TrimSpace(changelog[m[1]:end]); text != "" {
			return text + "\n", nil
		}
	}
	return "", fmt.Errorf("cannot find what is new: CHANGELOG.md says nothing below a heading \"## v%s\"", version)
}
