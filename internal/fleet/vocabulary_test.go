package fleet_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"custos/internal/fleet"
)

// constants finds the typed text constants of this package, by type.
func constants(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	pkgs, err := parser.ParseDir(token.NewFileSet(), ".", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range pkgs["fleet"].Files {
		ast.Inspect(f, func(n ast.Node) bool {
			s, ok := n.(*ast.ValueSpec)
			if !ok || len(s.Values) != 1 {
				return true
			}
			kind, named := s.Type.(*ast.Ident)
			value, text := s.Values[0].(*ast.BasicLit)
			if named && text && value.Kind == token.STRING && ast.IsExported(kind.Name) {
				word, _ := strconv.Unquote(value.Value)
				out[kind.Name] = append(out[kind.Name], word)
			}
			return true
		})
	}
	return out
}

// TestVocabulariesAreWhole: a word that is added is known where words are checked.
func TestVocabulariesAreWhole(t *testing.T) {
	all := constants(t)
	for kind, words := range map[string][]string{
		"AgentState": fleet.Words(reflect.TypeFor[fleet.AgentState]()), "ActionStage": fleet.Words(reflect.TypeFor[fleet.ActionStage]()),
		"AlertStatus": fleet.Words(reflect.TypeFor[fleet.AlertStatus]()), "ConvoyState": fleet.Words(reflect.TypeFor[fleet.ConvoyState]()),
		"Delivery": fleet.Words(reflect.TypeFor[fleet.Delivery]()), "DependencyState": fleet.Words(reflect.TypeFor[fleet.DependencyState]()),
		"Guard":   fleet.Words(reflect.TypeFor[fleet.Guard]()),
		"Desired": fleet.Words(reflect.TypeFor[fleet.Desired]()), "GateState": fleet.Words(reflect.TypeFor[fleet.GateState]()),
		"GateType": fleet.Words(reflect.TypeFor[fleet.GateType]()), "Holder": fleet.Words(reflect.TypeFor[fleet.Holder]()),
		"Mode": fleet.Words(reflect.TypeFor[fleet.Mode]()), "OrderState": fleet.Words(reflect.TypeFor[fleet.OrderState]()),
		"Owner": fleet.Words(reflect.TypeFor[fleet.Owner]()), "PartName": fleet.Words(reflect.TypeFor[fleet.PartName]()),
		"Priority": fleet.Words(reflect.TypeFor[fleet.Priority]()), "ProcState": fleet.Words(reflect.TypeFor[fleet.ProcState]()),
		"Progress": fleet.Words(reflect.TypeFor[fleet.Progress]()), "Restart": fleet.Words(reflect.TypeFor[fleet.Restart]()),
		"ResultStatus": fleet.Words(reflect.TypeFor[fleet.ResultStatus]()), "RunMode": fleet.Words(reflect.TypeFor[fleet.RunMode]()),
		"RunState": fleet.Words(reflect.TypeFor[fleet.RunState]()), "Status": fleet.Words(reflect.TypeFor[fleet.Status]()),
		"StepDo": fleet.Words(reflect.TypeFor[fleet.StepDo]()), "StepState": fleet.Words(reflect.TypeFor[fleet.StepState]()),
		"VerdictWord": fleet.Words(reflect.TypeFor[fleet.VerdictWord]()), "Where": fleet.Words(reflect.TypeFor[fleet.Where]()),
		"WorkState": fleet.Words(reflect.TypeFor[fleet.WorkState]()),
	} {
		want := slices.Sorted(slices.Values(all[kind]))
		if got := slices.Sorted(slices.Values(words)); len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("%s: the vocabulary has %q, the constants are %q", kind, got, want)
		}
	}
}

func TestAWordThatIsNoneIsFound(t *testing.T) {
	var r fleet.Recording
	r.Snapshot.Agents.Value = []fleet.Agent{{State: fleet.StateCrashed}, {State: "crahsed"}}
	err := fleet.CheckWords(r)
	if err == nil || !strings.HasPrefix(err.Error(), `snapshot.agents.value.1.state: "crahsed" is none of starting, `) {
		t.Error(err)
	}
	r.Snapshot.Agents.Value[1].State = ""
	r.Snapshot.Locks.Value = []fleet.Lock{{Holder: fleet.Known[fleet.Holder]("gone")}}
	if err := fleet.CheckWords(r); err == nil || !strings.HasPrefix(err.Error(), `snapshot.locks.value.0.holder: "gone" is none of alive, `) {
		t.Error(err)
	}
	r.Snapshot.Locks.Value = nil
	if err := fleet.CheckWords(r); err != nil {
		t.Error(err)
	}
}
