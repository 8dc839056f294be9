package capture_test

import (
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine/text/capture"
)

// ruleCase is what a rule finds, each with its abstract after "=>" where that is not the sentence, and what it leaves alone.
type ruleCase struct {
	rule    string
	yes, no []string
}

var ruleCases = map[string][]ruleCase{
	"en": {
		{"favourite", []string{"My favorite editor is Zed. => favorite editor: Zed", "my all-time favourite band is Wet Leg because they are loud => favorite band: Wet Leg"},
			[]string{"My favorite part is that it rained.", "What is your favorite editor?", "His favorite color is red."}},
		{"uses as", []string{"I use VS Code as my main editor. => editor: VS Code", "I'm now using Arch Linux as my daily driver. => driver: Arch Linux"},
			[]string{"I use VS Code.", "He uses Emacs as his editor."}},
		{"has as usual", []string{"My preferred language is Go. => language: Go"}, []string{"The default port is 8080."}},
		{"switched", []string{"I switched my editor from Vim to Helix. => editor: Helix"}, []string{"I switched my phone off.", "She switched her bank from A to B."}},
		{"switched from", []string{"I've recently switched from Chrome to Firefox."}, []string{"The train switched from track one to two."}},
		{"instead", []string{"I now drink tea instead of coffee."}, []string{"Use tabs instead of spaces, says the linter."}},
		{"no longer", []string{"I no longer eat meat.", "I don't drink coffee anymore."}, []string{"I don't drink coffee.", "It no longer works at all."}},
		{"prefers for", []string{"I prefer Postgres for small projects. => small projects: Postgres"}, []string{"They prefer Postgres for small projects."}},
		{"prefers", []string{"I'd prefer short answers with code.", "I really prefer dark mode."}, []string{"I prefer not to say.", "Do you prefer dark mode?"}},
		{"dislikes", []string{"I hate long meetings on Fridays.", "I don't really like olives."}, []string{"I hate to say it, but yes.", "I hate it."}},
		{"likes", []string{"I love hiking in the Alps.", "I also enjoy Korean films."}, []string{"I like that idea.", "I feel like a fraud today.", "I would like to know more."}},
		{"tries to avoid", []string{"I try to avoid dairy products."}, []string{"They avoid dairy products."}},
		{"is called", []string{"My name is Ana Souza. => name: Ana Souza", "Please call me Bo. => name: Bo"}, []string{"Call me when you arrive.", "My name is on the list.", "The file name is Report."}},
		{"lives in", []string{"I live in Lisbon. => home: Lisbon", "I just moved to New York last month. => home: New York"}, []string{"I live in hope, honestly.", "I moved to the next task."}},
		{"comes from", []string{"I'm originally from Porto. => origin: Porto", "I grew up in Chicago. => origin: Chicago"}, []string{"I'm from time to time tired.", "The error comes from Redis."}},
		{"works as", []string{"I work as a museum guide. => occupation: museum guide"}, []string{"It works as a charm, always."}},
		{"works at", []string{"I work at Harbor Labs. => employer: Harbor Labs"}, []string{"I work at night mostly.", "I work for fun on it."}},
		{"is a", []string{"I'm a senior software engineer. => occupation: senior software engineer", "I am a nurse at the county hospital. => occupation: nurse"}, []string{"I'm a bit tired today.", "I am a fan of doctors."}},
		{"eats no", []string{"I'm vegan. => diet: vegan", "I became a vegetarian last year. => diet: vegetarian"}, []string{"The soup is vegan, I think."}},
		{"is allergic", []string{"I'm severely allergic to peanuts.", "I have a bad shellfish allergy."}, []string{"My cat is allergic to dust.", "I'm allergic, they say."}},
		{"is of age", []string{"I'm 34 years old. => age: 34"}, []string{"I'm 34 minutes late.", "The house is 90 years old."}},
		{"was born", []string{"My birthday is on March 3rd. => birthday: March 3rd"}, []string{"My birthday is coming soon, yay.", "I was born tired."}},
		{"speaks", []string{"I speak Portuguese and some German."}, []string{"I speak to the team daily."}},
		{"has a", []string{"My wife is called Ines. => wife: Ines", "My younger brother's name is Tom. => younger brother: Tom"}, []string{"My dog is named after nobody.", "A boat called Ines sank."}},
		{"contact", []string{"My work email is ana@example.org. => email: ana@example.org", "My email is bo@example.com, please remember that. => email: bo@example.com", "My new phone number is +351 912 345 678. => phone: +351 912 345 678"},
			[]string{"My number is the lucky one.", "My email is annoying me so much!? yes?"}},
		{"contact of", []string{"Tom's phone number is +49 170 1234567. => tom's phone: +49 170 1234567"}, []string{"Tom's email is always long."}},
		{"reach at", []string{"You can reach me at bo@example.com. => email: bo@example.com"}, []string{"Reach me at the office, thanks."}},
		{"call at", []string{"You should call me on 0170 1234567. => phone: 0170 1234567"}, []string{"You should call me on Monday."}},
		{"thing is", []string{"Our staging server is at 10.0.0.7. => staging server: 10.0.0.7", "The project is called Heron. => project: Heron"}, []string{"The server is down again.", "The team is really happy with it."}},
		{"decided", []string{"We decided to use DuckDB for analytics.", "I've finally decided on the blue one."}, []string{"We haven't decided on anything yet.", "If we decided to go, it'd rain."}},
		{"goes with", []string{"Let's go with option two."}, []string{"I'll go with you to the shop.", "Wine goes with cheese very well."}},
		{"due", []string{"The deadline for the grant is March 14.", "The report is due on Friday."}, []string{"The deadline was hard on everyone involved.", "Success is due to hard work and luck."}},
		{"must by", []string{"We need to ship the beta by Friday."}, []string{"We need to go by car.", "You must be kidding."}},
		{"is on", []string{"My dentist appointment is on Tuesday at 9.", "The launch is scheduled for June 3."}, []string{"The meeting is boring.", "The release notes are long."}},
		{"fix", []string{"I fixed the crash by pinning the driver to 1.5.", "The solution was to clear the cache."}, []string{"I have not fixed the crash with it.", "A fixed price with tax.", "The bug was not fixed by it."}},
		{"cause", []string{"The outage was caused by a full disk.", "The culprit was the DNS cache."}, []string{"The cause matters little here."}},
		{"turned out", []string{"The build crashed again, and it turned out that the cache was full."}, []string{"It turned out to be a great party."}},
		{"happened", []string{"I went to a support group yesterday.", "Last weekend we painted the boat.", "I just got a new job in Porto."}, []string{"They went home yesterday.", "I went home."}},
		{"routine", []string{"Whenever we deploy, we run the smoke tests first.", "Before every release, I update the changelog."}, []string{"Whenever works fine for everybody."}},
		{"habit", []string{"I always review the diff before I merge.", "I run five miles every morning."}, []string{"I always wondered about that."}},
	},
	"de": {
		{"favourite", []string{"Mein Lieblingseditor ist Zed. => favorite editor: Zed"}, []string{"Sein Lieblingsessen ist Pizza."}},
		{"uses as", []string{"Ich nutze Helix als Editor. => editor: Helix"}, []string{"Ich nutze Helix."}},
		{"switched from", []string{"Ich bin von Chrome auf Firefox umgestiegen."}, []string{"Ich bin in Köln umgestiegen."}},
		{"instead", []string{"Ich trinke jetzt Tee statt Kaffee."}, []string{"Tee statt Kaffee ist gesund."}},
		{"no longer", []string{"Ich esse kein Fleisch mehr."}, []string{"Ich esse mehr als früher."}},
		{"prefers for", []string{"Ich bevorzuge Postgres für kleine Projekte. => kleine projekte: Postgres"}, []string{"Wir nehmen Postgres für kleine Projekte."}},
		{"prefers", []string{"Ich bevorzuge kurze Antworten.", "Mir sind kurze Antworten lieber.", "Am liebsten trinke ich Tee."}, []string{"Lieber Tom, danke dir."}},
		{"dislikes", []string{"Ich hasse lange Besprechungen.", "Ich mag keine Oliven."}, []string{"Ich mag das nicht."}},
		{"likes", []string{"Ich mag koreanische Filme.", "Ich koche sehr gern."}, []string{"Ich mag dich sehr.", "Ich mag keine Oliven."}},
		{"is called", []string{"Ich heiße Jonas Weber. => name: Jonas Weber"}, []string{"Ich heiße das nicht gut."}},
		{"lives in", []string{"Ich wohne in Bad Homburg. => home: Bad Homburg"}, []string{"Er wohnt in Köln."}},
		{"moved to", []string{"Ich bin vor kurzem nach Berlin gezogen. => home: Berlin"}, []string{"Ich bin nach Hause gegangen."}},
		{"comes from", []string{"Ich komme ursprünglich aus Graz. => origin: Graz"}, []string{"Ich komme aus der Arbeit."}},
		{"works as", []string{"Ich arbeite als Gutachter. => occupation: Gutachter"}, []string{"Es arbeitet als Ersatz."}},
		{"works at", []string{"Ich arbeite bei Hafen Labor. => employer: Hafen Labor"}, []string{"Ich arbeite bei gutem Licht."}},
		{"is a", []string{"Ich bin Krankenpfleger. => occupation: Krankenpfleger", "Ich bin Softwareentwicklerin. => occupation: Softwareentwicklerin"}, []string{"Ich bin müde und hungrig."}},
		{"eats no", []string{"Ich bin Vegetarierin. => diet: Vegetarierin"}, []string{"Die Suppe ist vegan."}},
		{"is allergic", []string{"Ich bin allergisch gegen Nüsse.", "Ich habe eine Pollenallergie."}, []string{"Mein Hund ist allergisch."}},
		{"is of age", []string{"Ich bin 34 Jahre alt. => age: 34"}, []string{"Das Haus ist 90 Jahre alt."}},
		{"was born", []string{"Mein Geburtstag ist am 3. März. => birthday: 3. März"}, []string{"Ich bin am 3. März in Rom."}},
		{"speaks", []string{"Ich spreche Portugiesisch und Spanisch."}, []string{"Ich spreche mit ihm."}},
		{"has a", []string{"Meine Frau heißt Ines. => frau: Ines"}, []string{"Das Boot heißt Ines."}},
		{"contact", []string{"Meine Telefonnummer ist 0170 1234567. => phone: 0170 1234567", "Meine neue Adresse lautet Hafenstraße 5. => address: Hafenstraße 5"}, []string{"Deine Nummer ist besetzt."}},
		{"thing is", []string{"Unser Server läuft auf 10.0.0.7. => server: 10.0.0.7"}, []string{"Der Server ist kaputt."}},
		{"decided", []string{"Wir haben uns für DuckDB entschieden."}, []string{"Wir haben noch nicht entschieden."}},
		{"due", []string{"Die Abgabe ist am 14. März."}, []string{"Die Abgabe war schwer."}},
		{"must by", []string{"Der Bericht muss bis Freitag fertig sein."}, []string{"Das muss bis zum Rand voll sein."}},
		{"is on", []string{"Mein Termin ist am Dienstag um 9."}, []string{"Der Termin ist mir egal."}},
		{"happened", []string{"Gestern bin ich einem Chor beigetreten.", "Wir haben letzte Woche das Boot gestrichen."}, []string{"Gestern hat es geregnet."}},
		{"fix", []string{"Den Absturz habe ich behoben, indem ich den Treiber festgelegt habe."}, []string{"Es ist noch nicht behoben durch das Update."}},
		{"cause", []string{"Der Fehler lag an der vollen Platte."}, []string{"Das Buch lag auf dem Tisch."}},
		{"routine", []string{"Jedes Mal, wenn wir ausliefern, prüfen wir zuerst die Tests."}, []string{"Jedes Mal dasselbe Theater."}},
		{"habit", []string{"Ich jogge jeden Morgen am Fluss.", "Ich laufe jeden Morgen."}, []string{"Ich laufe morgen nach Hause."}},
	},
	"zh": {
		{"favourite", []string{"我最喜欢的编辑器是Zed。 => favorite 编辑器: Zed"}, []string{"他最喜欢的编辑器是Zed。"}},
		{"uses as", []string{"我用飞书作为主要办公软件。 => 办公软件: 飞书"}, []string{"他用飞书作为工具。"}},
		{"switched from", []string{"我从咖啡换成了绿茶。"}, []string{"他从咖啡换成了绿茶。"}},
		{"instead", []string{"我现在改用火狐浏览器。"}, []string{"公司改用火狐浏览器。"}},
		{"no longer", []string{"我不再喝咖啡了。"}, []string{"他不再喝咖啡了。"}},
		{"dislikes", []string{"我讨厌太长的会议。", "我不喜欢香菜。"}, []string{"我不喜欢这样。"}},
		{"prefers", []string{"我更喜欢简短的回答。"}, []string{"他更喜欢简短的回答。"}},
		{"likes", []string{"我很喜欢爬山。"}, []string{"我喜欢你。", "我不喜欢香菜。"}},
		{"is called", []string{"我叫王小明。 => name: 王小明"}, []string{"我叫了外卖。"}},
		{"lives in", []string{"我住在上海。 => home: 上海"}, []string{"他住在上海。"}},
		{"comes from", []string{"我来自四川成都。 => origin: 四川成都"}, []string{"消息来自网络。"}},
		{"is a", []string{"我是一名软件工程师。 => occupation: 软件工程师"}, []string{"我是说明天去。"}},
		{"works at", []string{"我在华为工作。 => employer: 华为"}, []string{"我在家工作。"}},
		{"eats no", []string{"我是素食主义者。 => diet: 素食主义者"}, []string{"这家餐厅有素食。"}},
		{"is allergic", []string{"我对花生过敏。"}, []string{"我对花生不过敏。", "他过敏了。"}},
		{"is of age", []string{"我今年34岁。 => age: 34"}, []string{"孩子三岁了。"}},
		{"was born", []string{"我的生日是三月三日。 => birthday: 三月三日"}, []string{"他的生日是三月。"}},
		{"has a", []string{"我的妻子叫李娜。 => 妻子: 李娜"}, []string{"他的妻子叫李娜。"}},
		{"contact", []string{"我的邮箱是 ming@example.org。 => email: ming@example.org", "我的手机号是13800138000。 => phone: 13800138000"}, []string{"你的邮箱是什么。"}},
		{"thing is", []string{"我们的服务器在法兰克福机房。 => 服务器: 法兰克福机房"}, []string{"服务器又坏了。"}},
		{"decided", []string{"我们最终决定采用DuckDB。"}, []string{"我们还没有决定用什么。"}},
		{"due", []string{"截止日期是3月14日。"}, []string{"截止一词很常见。"}},
		{"must by", []string{"周五之前必须完成报告。"}, []string{"他之前完成了报告。"}},
		{"is on", []string{"我的面试安排在周二上午。"}, []string{"面试很难。"}},
		{"happened", []string{"昨天我参加了一个画展。"}, []string{"昨天下雨了。"}},
		{"fix", []string{"通过清空缓存解决了这个问题。"}, []string{"这个问题还没解决。"}},
		{"cause", []string{"问题出在磁盘已满。"}, []string{"没有什么原因。"}},
		{"routine", []string{"每次发布之前，我都先跑一遍测试。"}, []string{"这次发布很顺利。"}},
		{"habit", []string{"我每天早上跑五公里。"}, []string{"他每天跑步。"}},
	},
}

// TestRules holds every rule of every language against sentences that it is for, and against some that only look like it.
func TestRules(t *testing.T) {
	t.Parallel()
	for language, names := range capture.RuleNames() {
		known := map[string]bool{}
		for _, c := range ruleCases[language] {
			known[c.rule] = len(c.yes) > 0 && len(c.no) > 0
		}
		for _, name := range names {
			if !known[name] {
				t.Errorf("%s: rule %q has no sentences", language, name)
			}
		}
	}
	for language, cases := range ruleCases {
		for _, c := range cases {
			for _, line := range c.yes {
				sentence, want, keyed := strings.Cut(line, " => ")
				d := found(sentence, c.rule, language)
				switch {
				case d == nil:
					t.Errorf("%s, %s: not found in %q: %+v", language, c.rule, sentence, capture.Find(sentence))
				case keyed && d.Abstract() != want:
					t.Errorf("%s, %s: %q gives %q, want %q", language, c.rule, sentence, d.Abstract(), want)
				case sentence[d.Start:d.End] != strings.TrimSpace(sentence):
					t.Errorf("%s, %s: %q is at %q", language, c.rule, sentence, sentence[d.Start:d.End])
				}
			}
			for _, sentence := range c.no {
				if d := found(sentence, c.rule, language); d != nil {
					t.Errorf("%s, %s: found in %q: %+v", language, c.rule, sentence, *d)
				}
			}
		}
	}
}

func found(s, rule, language string) *capture.Draft {
	for _, d := range capture.Find(s) {
		if d.Rule == rule && d.Language == language {
			return &d
		}
	}
	return nil
}
