package rules

import (
	"strings"

	"cel.dev/cel-go/common/types"

	"custos/internal/fleet"
)

func boolType() *types.Type   { return types.BoolType }
func stringType() *types.Type { return types.StringType }

// expression compiles one expression of a rule, or notes what is wrong with it,
// a mistake a line.
func (r *reader) expression(d *draft, key, source string, want *types.Type, kinds ...fleet.Kind) *expression {
	e, err := r.compiler.compile(source, want, kinds...)
	if err == nil {
		return e
	}
	for _, line := range strings.Split(err.Error(), "\n") {
		r.wrong(d.place(key), "rule %q, %s: %s, in %s", d.Name, key, line, fleet.Line(source, 120))
	}
	return nil
}

// splitOrder takes "desc" or "asc" off the end of an order.
func splitOrder(order string) (source string, descending bool) {
	order = strings.TrimSpace(order)
	if s, ok := strings.CutSuffix(order, " desc"); ok {
		return strings.TrimSpace(s), true
	}
	s, _ := strings.CutSuffix(order, " asc")
	return strings.TrimSpace(s), false
}
