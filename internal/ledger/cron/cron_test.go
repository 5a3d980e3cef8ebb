package cron

import (
	"strings"
	"testing"
	"time"
)

func TestCheckCron(t *testing.T) {
	for expr, ok := range map[string]bool{
		"0 3 * * *": true, "*/5 * * * *": true, "0 0 29 2 *": true, "30 2 1,15 * MON-FRI": true, "@daily": true, "0 0 31 1,3 *": true,
		"0 0 31 2 *": false, "0 0 30 2 *": false, "0 0 31 4,6,9,11 *": false, "* * * *": false, "* * * * * *": false, "@everysecond": false,
		"60 * * * *": false, "* 24 * * *": false, "* * 0 * *": false, "* * * 13 *": false, "x * * * *": false, "*/0 * * * *": false,
		"": false, "@never": false, "1,,2 * * * *": false, "5- * * * *": false, "1/x * * * *": false, "* * * * 8": false,
	} {
		err := Check(expr, "")
		if (err == nil) != ok {
			t.Errorf("%q: %v", expr, err)
		}
	}
	if Check("0 3 * * *", "Europe/Berlin") != nil || Check("0 3 * * *", "Mars/Olympus") == nil {
		t.Error("zones")
	}
}

func FuzzCheckCron(f *testing.F) {
	f.Add("0 0 31 2 *")
	f.Add("*/5 1-3,7 * JAN MON")
	f.Fuzz(func(t *testing.T, expr string) {
		if len(expr) < 200 && Check(expr, "") == nil {
			if _, ok := Next(expr, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)); !ok && strings.Contains(expr, "* * * *") {
				t.Errorf("%q is sound and never due", expr)
			}
		}
	})
}
