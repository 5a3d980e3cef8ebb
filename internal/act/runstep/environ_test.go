package runstep

import (
	"slices"
	"testing"

	"custos/internal/fleet"
)

// What lies in the folder that a step runs in is never a program of it by its
// name alone, whatever Custos' own PATH says.
func TestNoStepSearchesItsOwnFolder(t *testing.T) {
	for _, c := range []struct {
		tools, path, want string
		town              bool
	}{
		{tools: "/opt/custos", path: "", want: "/opt/custos"},
		{tools: "/opt/custos", path: "/usr/bin:/bin", want: "/opt/custos:/usr/bin:/bin"},
		{tools: "/opt/custos", path: ":/usr/bin:.::bin:../x:", want: "/opt/custos:/usr/bin"},
		{tools: "", path: "/usr/bin:", want: "/usr/bin"},
		{tools: "bin", path: ".", want: "/usr/local/bin:/usr/bin:/bin"},
		{tools: "/opt/custos", path: "/usr/bin", want: "/opt/custos/gastown:/opt/custos:/usr/bin", town: true},
	} {
		env, _ := launch{run: fleet.Run{Town: c.town}}.environment([]string{"PATH=" + c.path}, c.tools)
		if !slices.Contains(env, "PATH="+c.want) {
			t.Errorf("tools %q, PATH %q: %q, want PATH=%s", c.tools, c.path, env, c.want)
		}
	}
}
