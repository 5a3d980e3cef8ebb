package rules

import (
	"fmt"

	"custos/internal/fleet"
)

// Condition is a CEL expression over the snapshot alone: host, self, agents,
// repos and the other lists, with no subject. Schedules start by it.
type Condition struct{ expr *expression }

// CompileCondition checks an expression, which must give true or false. What is
// wrong with it is said with the nearest name that would have been right.
func CompileCondition(source string) (*Condition, error) {
	c, err := newCompiler()
	if err != nil {
		return nil, err
	}
	e, err := c.compile(source, boolType())
	if err != nil {
		return nil, fmt.Errorf("%w, in %s", err, fleet.Line(source, 120))
	}
	return &Condition{e}, nil
}

// Parts returns the parts of a snapshot the condition rests on, sorted.
func (c *Condition) Parts() []fleet.PartName { return partsOf(fleet.KindPart, c.expr.uses) }

// Test answers the condition. Why is set for Unknown and Broken.
func (c *Condition) Test(v *View) (answer Truth, why string) { return c.expr.truth(v) }
