package rules

import (
	"errors"
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/checker"
	"cel.dev/cel-go/common/types"

	"custos/internal/fleet"
	"custos/internal/nearest"
)

// expression is one compiled piece of CEL.
type expression struct {
	ast     *cel.Ast
	program cel.Program
	uses    []variable // of the snapshot, that it reads
}

// compiler compiles expressions over the vocabulary. It is used while one table
// is parsed, and by one goroutine.
type compiler struct {
	provider *provider
	base     *cel.Env
	envs     map[string]*cel.Env // by the kinds that are visible
}

func newCompiler() (*compiler, error) {
	reg, err := types.NewRegistry()
	if err != nil {
		return nil, fmt.Errorf("cannot prepare the rule language: %w", err)
	}
	p := newProvider(reg)
	opts := []cel.EnvOption{
		cel.CustomTypeProvider(p), cel.CustomTypeAdapter(adapter{reg}),
		cel.ClearMacros(), // has() would call an unseen value present
		cel.Macros(cel.AllMacro, cel.ExistsMacro, cel.ExistsOneMacro, cel.MapMacro, cel.MapFilterMacro, cel.FilterMacro),
		cel.CrossTypeNumericComparisons(true), // so that 80 is as good as 80.0
	}
	for _, f := range functions() {
		opts = append(opts, f.option())
	}
	base, err := cel.NewEnv(opts...)
	if err != nil {
		return nil, fmt.Errorf("cannot prepare the rule language: %w", err)
	}
	return &compiler{provider: p, base: base, envs: map[string]*cel.Env{}}, nil
}

// env returns the environment in which the subjects of the kinds are visible.
func (c *compiler) env(kinds ...fleet.Kind) (*cel.Env, error) {
	key := fmt.Sprint(kinds)
	if e, ok := c.envs[key]; ok {
		return e, nil
	}
	var opts []cel.EnvOption
	for _, v := range visible(kinds...) {
		opts = append(opts, cel.Variable(v.name, v.celType()))
	}
	e, err := c.base.Extend(opts...)
	if err != nil {
		return nil, fmt.Errorf("cannot prepare the rule language: %w", err)
	}
	c.envs[key] = e
	return e, nil
}

func (v variable) celType() *types.Type {
	switch {
	case v.typ == "":
		return types.TimestampType
	case v.list:
		return types.NewListType(objectType(v.typ))
	}
	return objectType(v.typ)
}

// compile checks an expression and makes it ready to run. want is the type it
// must have; nil allows any type that can be put in order.
func (c *compiler) compile(source string, want *types.Type, kinds ...fleet.Kind) (*expression, error) {
	env, err := c.env(kinds...)
	if err != nil {
		return nil, err
	}
	ast, issues := env.Compile(source)
	if issues.Err() != nil {
		return nil, c.explain(issues, visible(kinds...))
	}
	if err := checkType(ast.OutputType(), want); err != nil {
		return nil, err
	}
	if err := checkCost(env, ast, kinds); err != nil {
		return nil, err
	}
	program, err := env.Program(ast, cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return nil, fmt.Errorf("cannot compile: %w", err)
	}
	return &expression{ast: ast, program: program, uses: readBy(ast, visible(kinds...))}, nil
}

func checkType(got, want *types.Type) error {
	if want != nil {
		if !got.IsExactType(want) {
			return fmt.Errorf("it gives a %s, want a %s", got, want)
		}
		return nil
	}
	for _, t := range []*types.Type{types.IntType, types.DoubleType, types.DurationType, types.StringType, types.TimestampType} {
		if got.IsExactType(t) {
			return nil
		}
	}
	return fmt.Errorf("it gives a %s, which cannot be put in order", got)
}

// explain turns the errors of CEL into one line each, with the nearest name
// that would have been right.
func (c *compiler) explain(issues *cel.Issues, vars []variable) error {
	var all []error
	for _, e := range issues.Errors() {
		msg := strings.TrimSuffix(e.Message, " (in container '')")
		all = append(all, errors.New(msg+c.suggestion(msg, vars)))
	}
	return errors.Join(all...)
}

func (c *compiler) suggestion(msg string, vars []variable) string {
	_, rest, ok := strings.Cut(msg, "'")
	name, _, closed := strings.Cut(rest, "'")
	if !ok || !closed {
		return ""
	}
	if name == "has" {
		return ": a value that was not seen is unknown by itself, so nothing has to ask"
	}
	if strings.HasPrefix(msg, "undefined field") {
		names, _ := c.provider.FindStructFieldNames(c.provider.missed[name])
		return nearest.Hint(name, names)
	}
	if strings.HasPrefix(msg, "undeclared reference") {
		return nearest.Hint(name, vocabularyNames(vars))
	}
	return ""
}

func vocabularyNames(vars []variable) []string {
	out := []string{"duration", "size", "timestamp", "matches", "string", "int", "double"}
	for _, v := range vars {
		out = append(out, v.name)
	}
	for _, f := range functions() {
		out = append(out, f.name)
	}
	return out
}

// How big things are taken to be when the cost of an expression is bounded, and
// how much one rule may cost over all its subjects. A field costs about one,
// and a million takes in the order of 0.1 s.
const (
	mostSubjects = 10_000
	mostIssues   = 2_000 // and pull requests: what a forge is read of
	mostMounts   = 64
	mostInside   = 64
	longestText  = 256
	highestCost  = 20_000_000
)

func checkCost(env *cel.Env, ast *cel.Ast, kinds []fleet.Kind) error {
	estimate, err := env.EstimateCost(ast, sizes{})
	if err != nil {
		return fmt.Errorf("cannot estimate its cost: %w", err)
	}
	often := uint64(1)
	for _, k := range kinds {
		often = max(often, howMany(k))
	}
	if estimate.Max > highestCost/often {
		return fmt.Errorf("it costs too much: up to %d steps for each of up to %d subjects, and at most %d in all are allowed", estimate.Max, often, highestCost)
	}
	return nil
}

func howMany(k fleet.Kind) uint64 {
	switch k {
	case fleet.KindHost, fleet.KindSelf, "":
		return 1
	case fleet.KindIssue, fleet.KindPull:
		return mostIssues
	case fleet.KindMount, fleet.KindPart, fleet.KindProject:
		return mostMounts
	}
	return mostSubjects
}

// sizes says to the cost estimator how big things may be.
type sizes struct{}

// EstimateSize bounds lists and texts.
func (sizes) EstimateSize(n checker.AstNode) *checker.SizeEstimate {
	most := uint64(longestText)
	if n.Type().Kind() == types.ListKind || n.Type().Kind() == types.MapKind {
		most = mostInside
		if p := n.Path(); len(p) == 1 && !isShort(p[0]) {
			most = mostSubjects
		}
	}
	return &checker.SizeEstimate{Min: 0, Max: most}
}

// isShort says whether the list of a variable is a short one.
func isShort(variable string) bool {
	return variable == "mounts" || variable == agentsOfName || variable == formerAgentsOf || variable == fixesName || variable == treeName || variable == itsWorkName
}

// EstimateCallCost leaves calls to CEL's own figures.
func (sizes) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}
