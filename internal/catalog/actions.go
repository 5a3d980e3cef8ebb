package catalog

import (
	"custos/internal/act"
	"custos/internal/act/abortrebase"
	"custos/internal/act/checkoutprimary"
	"custos/internal/act/clearbuild"
	"custos/internal/act/notifyterminal"
	"custos/internal/act/removelock"
	"custos/internal/act/removephase"
	"custos/internal/act/removeworktree"
	"custos/internal/act/rotatelog"
	"custos/internal/act/stop"
)
