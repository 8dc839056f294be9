package capture

// rest is what a Chinese sentence goes on with, up to the next sign.
const rest = `[^，。！？；,.!?;]`

// chinese are the rules of Chinese. Their words are parts of a sentence, for no space parts words there.
var chinese = []said{
	{name: "favourite", category: "preference", words: "最喜欢的 最爱的", topic: "favorite *", sure: 0.9,
		pattern: `我最(?:喜欢|爱)的(?P<topic>[^，。是]{1,12})是(?P<value>` + rest + `{1,40})`},
	{name: "uses as", category: "preference", words: "作为 当作", topic: "*", sure: 0.85,
		pattern: `我(?:现在|一直|平时)?用(?P<value>` + rest + `{1,30}?)(?:作为|当作)(?:我的)?(?:主要|默认)?(?P<topic>` + rest + `{1,16})`},
	{name: "switched from", category: "preference", words: "换成 改成 改用", corrects: true, sure: 0.85,
		pattern: `我(?:已经|最近|现在)?(?:从|由|把)(?P<old>` + rest + `{1,30}?)(?:换成|改成|改用)了?(?P<value>` + rest + `{1,30})`},
	{name: "instead", category: "preference", words: "改用 改喝 改吃", corrects: true, sure: 0.75,
		pattern: `我(?:现在|已经|最近)?(?:改用|改喝|改吃)了?(?P<value>` + rest + `{1,30})`},
	{name: "no longer", category: "preference", words: "不再", negative: true, corrects: true, sure: 0.8,
		pattern: `我(?:现在|已经)?(?P<value>不再` + rest + `{1,40})`},
	{name: "dislikes", category: "preference", words: "讨厌 不喜欢 不爱 受不了", negative: true, sure: 0.75,
		pattern: `我(?:最|很|真的|一点也|比较)?(?:讨厌|不喜欢|不爱|受不了)(?P<value>` + rest + `{1,40})`, not: `不喜欢(?:你|这样|那样)`},
	{name: "prefers", category: "preference", words: "偏爱 更喜欢 宁愿 习惯 偏好", sure: 0.8,
		pattern: `我(?:比较|一直|通常|平时|一般)?(?:偏爱|更喜欢|宁愿|习惯用?|偏好)(?P<value>` + rest + `{2,40})`, not: `不习惯`},
	{name: "likes", category: "preference", words: "喜欢 爱吃 爱喝 常吃 想吃", sure: 0.7,
		pattern: `我(?:最|很|也|非常|特别|一直|还|更)?(?:喜欢|爱吃|爱喝|常吃)(?P<value>` + rest + `{1,40})`, not: `喜欢(?:你|这个想法|吗)|不喜欢`},

	{name: "is called", category: "profile", words: "我叫 我的名字 叫我", topic: "name", sure: 0.9,
		pattern: `(?:我叫|我的名字(?:是|叫)|(?:请|可以|就)叫我)(?P<value>[\p{Han}A-Za-z·]{1,12})`, not: `我叫(?:他|她|你|了|车|外卖)`},
	{name: "lives in", category: "profile", words: "住在 搬到", topic: "home", sure: 0.85,
		pattern: `我(?:现在|目前|已经|刚刚?|最近)?(?:住在|搬到了?|搬去了?)(?P<value>[\p{Han}A-Za-z]{2,16})`},
	{name: "comes from", category: "profile", words: "来自 老家", topic: "origin", sure: 0.8,
		pattern: `(?:我来自|我老家(?:是|在)|我的老家(?:是|在))(?P<value>[\p{Han}A-Za-z]{2,16})`},
	{name: "is a", category: "profile", words: "我是 职业", topic: "occupation", sure: 0.8,
		pattern: `(?:我是|我的职业是)(?:一名|一个|一位|个|名)?(?P<value>[\p{Han}A-Za-z]{0,12}?(?:工程师|程序员|设计师|老师|教师|教授|学生|医生|护士|律师|研究员|科学家|作家|记者|画家|音乐家|厨师|经理|顾问|会计|建筑师|分析师|木匠|电工|司机|摄影师|心理医生|翻译|创始人|公务员|退休人员|产品经理|自由职业者))`},
	{name: "works at", category: "profile", words: "工作 上班", topic: "employer", sure: 0.8,
		pattern: `我(?:现在|目前)?在(?P<value>[\p{Han}A-Za-z0-9]{2,20}?)(?:工作|上班)`, not: `在(?:家|外面|这里|那里)(?:工作|上班)`},
	{name: "eats no", category: "profile", words: "素食 吃素", topic: "diet", sure: 0.85, pattern: `我(?:是|一直|现在)?(?:个|一个)?(?P<value>素食主义者|素食者|纯素食者|吃素)`},
	{name: "is allergic", category: "profile", words: "过敏", sure: 0.9, pattern: `我对(?P<value>` + rest + `{1,20}?)过敏`, not: `不过敏`},
	{name: "is of age", category: "profile", words: "岁", topic: "age", sure: 0.85, pattern: `我(?:今年|现在)?(?:已经)?(?P<value>\d{1,3})岁`},
	{name: "was born", category: "profile", words: "生日", topic: "birthday", sure: 0.85, pattern: `我的?生日(?:是|在)(?P<value>` + rest + `{2,16})`},

	{name: "has a", category: "entity", words: "叫", topic: "*", sure: 0.85,
		pattern: `我(?:的)?(?P<topic>妻子|老婆|丈夫|老公|女朋友|男朋友|儿子|女儿|哥哥|弟弟|姐姐|妹妹|妈妈|爸爸|老板|同事|狗|猫|公司|团队|项目)(?:的名字)?(?:叫|名叫|叫做)(?P<value>[\p{Han}A-Za-z·]{1,12})`},
	{name: "contact", category: "entity", words: "邮箱 邮件 电话 手机 微信 地址", topic: "*", sure: 0.9,
		pattern: `我的(?:新|工作|私人)?(?P<topic>邮箱地址|电子邮箱|电子邮件|邮箱|电话号码|电话|手机号码|手机号|手机|微信号|微信|地址)(?:是|为|改成了?|：|:) ?(?P<value>[^，。！？；,!?;]{3,60})`},
	{name: "thing is", category: "entity", words: "服务器 数据库 项目 公司 团队 办公室", topic: "*", sure: 0.65,
		pattern: `(?:我们的?|我的)(?P<topic>服务器|数据库|项目|公司|团队|办公室)(?:在|用的是|使用|运行在|叫|位于)(?P<value>` + rest + `{2,40})`},

	{name: "decided", category: "event", words: "决定 商定 选定 敲定 确定", sure: 0.8,
		pattern: `(?:我们|我|团队|大家)(?:已经|最终|最后|一致|刚刚?)?(?:决定|商定|选定|敲定|确定)(?:了|要|用|不|在|采用)?` + rest + `{2,}`, not: `(?:没|未|还没)(?:有)?(?:决定|确定)|不确定`},
	{name: "due", category: "event", words: "截止 期限", sure: 0.85, pattern: `(?:截止(?:日期|时间)?|期限|最后期限)(?:是|为|在|到|：|:)?.*(?:\d|[一二三四五六七八九十]+(?:月|日|号|点)|今天|明天|后天|周|星期|月底)`},
	{name: "must by", category: "event", words: "之前 以前 前", sure: 0.75, pattern: `(?:\d|[一二三四五六七八九十]|今天|明天|后天|周|星期|月底|年底)` + rest + `{0,10}(?:之前|以前|前)` + rest + `{0,12}(?:必须|要|得|需要)(?:完成|交|提交|做完|上线|发布)`},
	{name: "is on", category: "event", words: "会议 面试 考试 航班 婚礼 手术 预约 出差", sure: 0.75,
		pattern: `(?:我的?|我们的?)` + rest + `{0,8}(?:会议|面试|考试|航班|婚礼|手术|预约|出差)` + rest + `{0,4}(?:是|在|定在|安排在|改到了?)` + rest + `*(?:\d|[一二三四五六七八九十]|今天|明天|后天|周|星期|月)`},

	{name: "happened", category: "event", words: "昨天 前天 上周 上个月 去年 刚刚 刚", sure: 0.6,
		pattern: `(?:昨天|前天|上周|上个月|去年|上个?周末)` + rest + `{0,6}(?:我|我们)` + rest + `{3,}|(?:我|我们)(?:昨天|前天|上周|上个月|去年|刚刚?|上个?周末)` + rest + `{3,}`},

	{name: "fix", category: "case", words: "解决了 修复了 修好了 解决办法 解决方法", sure: 0.75,
		pattern: `(?:通过|用|靠|把|后)` + rest + `{2,60}(?:解决了|修复了|修好了)|解决(?:办法|方法|方案)(?:是|：|:)` + rest + `{2,}`, not: `没(?:有)?(?:解决|修复)`},
	{name: "cause", category: "case", words: "原因 问题出在 导致", sure: 0.7, pattern: `(?:根本)?原因(?:是|在于)` + rest + `{2,}|问题出在` + rest + `{2,}|是由` + rest + `{2,30}导致的`},
	{name: "routine", category: "pattern", words: "每次 每当", sure: 0.7, pattern: `(?:每次|每当)` + rest + `{2,40}[，,]?(?:我|我们)?(?:都|就|先|总是|会)`},
	{name: "habit", category: "pattern", words: "每天 总是 从不 每周", sure: 0.65, pattern: `我(?:一般|通常)?(?:每天|总是|从不|每周)` + rest + `{2,40}`},
}
