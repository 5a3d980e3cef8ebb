package rules

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// function is one of ours beside those of CEL: one argument, strict in unknowns.
type function struct {
	name string
	from *types.Type
	to   *types.Type
	doc  string
	do   func(ref.Val) ref.Val
}

func functions() []function {
	return []function{
		{"kib", cel.IntType, cel.IntType, "that many KiB in bytes", times(1 << 10)},
		{"mib", cel.IntType, cel.IntType, "that many MiB in bytes", times(1 << 20)},
		{"gib", cel.IntType, cel.IntType, "that many GiB in bytes", times(1 << 30)},
		{"bytes_text", cel.IntType, cel.StringType, "bytes for people: 1.5 GiB", func(v ref.Val) ref.Val { return types.String(bytesText(int64(v.(types.Int)))) }},
		{"mib_text", cel.IntType, cel.StringType, "bytes for people, always in MiB: 340 MiB", func(v ref.Val) ref.Val { return types.String(fmt.Sprintf("%d MiB", int64(v.(types.Int))>>20)) }},
		{"duration_text", cel.DurationType, cel.StringType, "a duration for people, two units at most: 3h20m", func(v ref.Val) ref.Val { return types.String(durationText(v.(types.Duration).Duration)) }},
		{"list_text", cel.ListType(cel.StringType), cel.StringType, "texts with commas between them", listText},
		{"percent_text", cel.DoubleType, cel.StringType, "a percentage for people: 83 %", func(v ref.Val) ref.Val { return types.String(percentText(float64(v.(types.Double)))) }},
	}
}

func (f function) option() cel.EnvOption {
	id := f.name + "_" + strings.ToLower(f.from.TypeName())
	return cel.Function(f.name, cel.Overload(id, []*cel.Type{f.from}, f.to, cel.UnaryBinding(f.do)))
}

func listText(v ref.Val) ref.Val {
	l := v.(traits.Lister)
	n := l.Size().(types.Int)
	words := make([]string, 0, n)
	for i := types.Int(0); i < n; i++ {
		words = append(words, fmt.Sprint(l.Get(i).Value()))
	}
	return types.String(strings.Join(words, ", "))
}

func times(factor int64) func(ref.Val) ref.Val {
	return func(v ref.Val) ref.Val {
		n := int64(v.(types.Int))
		if n > math.MaxInt64/factor || n < math.MinInt64/factor {
			return types.NewErr("cannot count %d units of %d bytes: too many", n, factor)
		}
		return types.Int(n * factor)
	}
}

func bytesText(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	x, i := float64(n), 0
	for math.Abs(x) >= 1024 && i < len(units)-1 {
		x, i = x/1024, i+1
	}
	if i == 0 || math.Abs(x) >= 100 {
		return strconv.FormatFloat(x, 'f', 0, 64) + " " + units[i]
	}
	return strings.TrimSuffix(strconv.FormatFloat(x, 'f', 1, 64), ".0") + " " + units[i]
}

func percentText(x float64) string { return strconv.FormatFloat(x, 'f', 0, 64) + " %" }

// durationText shows the two biggest units, as people read a clock.
func durationText(d time.Duration) string {
	sign := ""
	if d < 0 {
		sign, d = "-", -d
	}
	switch {
	case d < time.Second:
		return sign + d.Round(time.Millisecond).String()
	case d >= 24*time.Hour:
		return sign + pair(d, 24*time.Hour, "d", time.Hour, "h")
	case d >= time.Hour:
		return sign + pair(d, time.Hour, "h", time.Minute, "m")
	}
	return sign + pair(d, time.Minute, "m", time.Second, "s")
}

func pair(d, big time.Duration, bigName string, small time.Duration, smallName string) string {
	out := ""
	if n := d / big; n > 0 {
		out = fmt.Sprintf("%d%s", n, bigName)
	}
	if n := d % big / small; n > 0 || out == "" {
		out += fmt.Sprintf("%d%s", n, smallName)
	}
	return out
}
