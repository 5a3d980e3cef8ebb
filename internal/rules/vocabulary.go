package rules

import (
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"custos/internal/fleet"
)

// unit says how a number is shown to people.
type unit string

const (
	plain   unit = ""
	bytes   unit = "bytes"
	percent unit = "percent"
)

// field is one word of the vocabulary: how it is named, typed and read.
type field struct {
	name string // as in the JSON of fleet
	typ  *types.Type
	unit unit
	doc  string
	get  func(any) ref.Val
}

// structure is one type a rule can read. Its name is the word rules use for one
// such thing; the type of CEL has the same name.
type structure struct {
	name   string
	doc    string
	typ    *types.Type
	order  []string
	fields map[string]*field
}

func define(name, doc string, fields ...*field) *structure {
	s := &structure{name: name, doc: doc, typ: types.NewObjectType(typeName(name)), fields: map[string]*field{}}
	return s.with(fields...)
}

// with adds words to a structure.
func (s *structure) with(fields ...*field) *structure {
	for _, f := range fields {
		s.order = append(s.order, f.name)
		f.get = naming(s.name+"."+f.name, f.get)
		s.fields[f.name] = f
	}
	return s
}

// typeName keeps our types out of the way of variables of the same name.
func typeName(name string) string { return "custos." + name }

func objectType(name string) *types.Type { return types.NewObjectType(typeName(name)) }

// lack is what an accessor answers for a value that was not seen; naming turns
// it into CEL's unknown.
type lack struct {
	ref.Val
	why string
}

func naming(what string, get func(any) ref.Val) func(any) ref.Val {
	return func(o any) ref.Val {
		v := get(o)
		if l, ok := v.(lack); ok {
			return unseen(what, l.why)
		}
		return v
	}
}

func unseen(what, why string) ref.Val {
	return types.NewUnknown(0, types.NewAttributeTrail(what+" is not known: "+why))
}

// of makes an accessor for a value that is always there.
func of[T any](name string, t *types.Type, doc string, get func(*T) ref.Val) *field {
	return &field{name: name, typ: t, doc: doc, get: func(o any) ref.Val { return get(o.(*T)) }}
}

func text[T any, S ~string](name, doc string, get func(*T) S) *field {
	return of(name, types.StringType, doc, func(o *T) ref.Val { return types.String(get(o)) })
}

// said is a text in which "unknown", or nothing, means that it is not known: a
// state, a progress.
func said[T any, S ~string](name, doc string, get func(*T) S) *field {
	return of(name, types.StringType, doc, func(o *T) ref.Val {
		if s := get(o); s != "" && s != "unknown" {
			return types.String(s)
		}
		return lack{why: "it could not be told"}
	})
}

func truth[T any](name, doc string, get func(*T) bool) *field {
	return of(name, types.BoolType, doc, func(o *T) ref.Val { return types.Bool(get(o)) })
}

func number[T any, N ~int | ~int64 | ~uint64](name, doc string, get func(*T) N) *field {
	return of(name, types.IntType, doc, func(o *T) ref.Val { return types.Int(get(o)) })
}

func span[T any](name, doc string, get func(*T) fleet.Duration) *field {
	return of(name, types.DurationType, doc, func(o *T) ref.Val { return duration(get(o)) })
}

func moment[T any](name, doc string, get func(*T) fleet.Instant) *field {
	return of(name, types.TimestampType, doc, func(o *T) ref.Val {
		if at := get(o); !at.IsZero() {
			return types.Timestamp{Time: at.Wall}
		}
		return lack{why: "it never happened"}
	})
}

func texts[T any](name, doc string, get func(*T) []string) *field {
	return of(name, types.NewListType(types.StringType), doc, func(o *T) ref.Val { return stringList(get(o)) })
}

func child[T, C any](name, typ, doc string, get func(*T) *C) *field {
	return of(name, objectType(typ), doc, func(o *T) ref.Val {
		if c := get(o); c != nil {
			return object{typ, c}
		}
		return lack{why: "there is none"}
	})
}

// atMostOne is a list of one, or of none: so that what is not there can be told
// from what was not seen. size(agent.tool) == 0 says that no tool is in flight.
func atMostOne[T, C any](name, typ, doc string, get func(*T) *C) *field {
	none := types.NewRefValList(types.DefaultTypeAdapter, nil) // made once: nearly every agent has none
	return of(name, types.NewListType(objectType(typ)), doc, func(o *T) ref.Val {
		if c := get(o); c != nil {
			return types.NewRefValList(types.DefaultTypeAdapter, []ref.Val{object{typ, c}})
		}
		return none
	})
}

func children[T, C any](name, typ, doc string, get func(*T) []C) *field {
	return of(name, types.NewListType(objectType(typ)), doc, func(o *T) ref.Val { return objects(typ, get(o)) })
}

// leafOf makes an accessor for a value that a probe may have failed to see.
func leafOf[T, V any](name string, t *types.Type, doc string, get func(*T) *fleet.Leaf[V], turn func(V) ref.Val) *field {
	return of(name, t, doc, func(o *T) ref.Val {
		l := get(o)
		if v, ok := l.Get(); ok {
			return turn(v)
		}
		return lack{why: l.Why()}
	})
}

func leafText[T any](name, doc string, get func(*T) *fleet.Leaf[string]) *field {
	return leafOf(name, types.StringType, doc, get, func(s string) ref.Val { return types.String(s) })
}

func leafTruth[T any](name, doc string, get func(*T) *fleet.Leaf[bool]) *field {
	return leafOf(name, types.BoolType, doc, get, func(b bool) ref.Val { return types.Bool(b) })
}

func leafNumber[T any, N ~int | ~int64](name, doc string, get func(*T) *fleet.Leaf[N]) *field {
	return leafOf(name, types.IntType, doc, get, func(n N) ref.Val { return types.Int(n) })
}

func leafBytes[T any](name, doc string, get func(*T) *fleet.Leaf[int64]) *field {
	f := leafNumber(name, doc, get)
	f.unit = bytes
	return f
}

func leafReal[T any](name, doc string, get func(*T) *fleet.Leaf[float64]) *field {
	return leafOf(name, types.DoubleType, doc, get, func(x float64) ref.Val { return types.Double(x) })
}

func leafPercent[T any](name, doc string, get func(*T) *fleet.Leaf[float64]) *field {
	f := leafReal(name, doc, get)
	f.unit = percent
	return f
}

func leafSpan[T any](name, doc string, get func(*T) *fleet.Leaf[fleet.Duration]) *field {
	return leafOf(name, types.DurationType, doc, get, duration)
}

func duration(d fleet.Duration) ref.Val { return types.Duration{Duration: time.Duration(d)} }

// vocabulary returns every type a rule can read, in the order they are
// documented.
func vocabulary() []*structure {
	return []*structure{
		hostWords(), memoryWords(), swapWords(), loadWords(), pressureWords(), mountWords(),
		agentWords(), signalWords(), toolWords(), dialogWords(), choiceWords(), exitWords(), paneWords(), paneIDWords(), processIDWords(),
		repoWords(), worktreeWords(), bulkWords(),
		lockWords(), phaseWords(), logWords(), fileWords(),
		runWords(), phraseWords(), stepWords(),
		engineWords(), containerWords(), projectWords(), issueWords(), pullWords(), pipelineWords(), workerWords(),
		workWords(), gateWords(), convoyWords(), mailWords(),
		selfWords(), receiverWords(), landmarkWords(), partWords(), extraWords(), pluginWords(), codeWords(),
	}
}
